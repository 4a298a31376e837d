"""The process itself: signals, its parent, its lines."""

import fcntl
import json
import os
import signal
import subprocess
import sys

import pytest

from hubqueue.models import Leader
from tests.conftest import CHECKOUT
from tests.scheduler.start import Scheduler
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("after", [0, 0.02, 0.1, 0.3, 0.8])
def test_a_signal_at_any_moment_of_the_start_ends_the_process(
    process_env: dict[str, str], after: float
) -> None:
    with Scheduler(process_env, tick=0.2) as one:
        until(lambda: _is_python(one.process.pid), message="the interpreter")
        try:
            one.process.wait(after)
        except subprocess.TimeoutExpired:
            pass
        one.process.send_signal(signal.SIGTERM)
        # Before the handler is in place a signal ends the process as it ends any.
        assert one.process.wait(30) in {0, -signal.SIGTERM}


def _is_python(pid: int) -> bool:
    with open(f"/proc/{pid}/cmdline", "rb") as line:
        return b"hubqueue.scheduler" in line.read()


def test_it_ends_when_its_parent_does(process_env: dict[str, str]) -> None:
    reading, writing = os.pipe()
    env = {
        **process_env,
        "DJANGO_SETTINGS_MODULE": "tests.scheduler.settings",
        "HUBQUEUE_PARENT_FD": str(reading),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "hubqueue.scheduler"],
        env=env,
        cwd=CHECKOUT,
        pass_fds=[reading],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(reading)
        assert process.stdout is not None
        assert set(json.loads(process.stdout.readline())) == {"tick", "leading"}
        os.close(writing)
        assert process.wait(30) == 0


def test_a_reader_that_does_not_read_stops_nothing(process_env: dict[str, str]) -> None:
    env = {
        **process_env,
        "DJANGO_SETTINGS_MODULE": "tests.scheduler.settings",
        "SCHEDULER_TICK": "0.05",
    }
    reading, writing = os.pipe()
    size = 4096
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, size)
    with subprocess.Popen(
        [sys.executable, "-m", "hubqueue.scheduler"],
        env=env,
        cwd=CHECKOUT,
        stdout=writing,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            until(lambda: Leader.objects.exists(), message="a leader")
            lines = size // len('{"tick": 0.000001, "leading": true}\n')
            start = Leader.objects.get().ticked_at
            until(
                lambda: (Leader.objects.get().ticked_at - start).total_seconds() > lines * 0.05,
                message="more ticks than the pipe takes",
            )
        finally:
            process.terminate()
            assert process.wait(30) == 0
            os.close(reading)
            os.close(writing)
