"""What one process has, none that it starts gets by accident: no connection, no luck of the dice."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from django.db import connection, transaction

from hubqueue.ids import uuid7
from hubqueue.models import Job
from tests.support.handlers import scripted
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until
from tests.support.workers import CHECKOUT


def sockets(pid: int) -> set[str]:
    """The sockets that a process has open, by their number in the kernel."""
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(os.readlink(each))
        except OSError:
            continue
    return {name for name in found if name.startswith("socket:")}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_process_of_a_worker_shares_a_connection_with_another(hub: Hub) -> None:
    worker = hub.ready("--processes", "2", "--scheduler", seconds={"TICK": 1})
    hub.put("proof.effect", [{"name": f"job-{number}"} for number in range(40)])
    hub.all_reach("SUCCEEDED")
    until(lambda: hub.rows("SELECT FROM hubqueue_leader"), timeout=PATIENT, message="a leader")
    members = worker.pids()
    assert len(members) == 4, "the supervisor, two workers, the scheduler"
    seen = {pid: sockets(pid) for pid in members}
    assert all(seen.values())
    for pid in members:
        for other in members:
            assert pid == other or not seen[pid] & seen[other]


def in_fork(call: Callable[[], str]) -> str:
    """What ``call`` answers in a forked copy of this process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, call().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer


def test_forked_copies_make_ids_of_their_own() -> None:
    """As a web server does that loads the application before it forks."""
    uuid7()
    made = [UUID(line) for _ in range(4) for line in in_fork(thousand_ids).split()]
    assert len(set(made)) == len(made) == 4000


def thousand_ids() -> str:
    return " ".join(str(uuid7()) for _ in range(1000))


@pytest.mark.django_db(transaction=True)
def test_forked_copies_enqueue_over_sessions_of_their_own() -> None:
    """As a web server does that has used the database by the time it forks."""
    scripted.enqueue()
    ours = backend()
    with transaction.atomic():
        scripted.enqueue()
        theirs = [in_fork(enqueue_some) for _ in range(3)]
        assert Job.objects.count() == 1 + 1 + 3 * 20, "and our transaction stands"
    assert backend() == ours
    assert len({ours, *theirs}) == 4, theirs


def backend() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return str(pid)


def enqueue_some() -> str:
    for _ in range(20):
        scripted.enqueue()
    return backend()


@pytest.mark.slow
def test_loading_the_web_opens_no_session_and_starts_no_thread(process_env: dict[str, str]) -> None:
    code = (
        "import threading, config.wsgi; from django.db import connections;"
        " print([c.alias for c in connections.all(initialized_only=True) if c.connection],"
        " threading.active_count())"
    )
    env = process_env | {"DJANGO_SETTINGS_MODULE": "config.settings.test"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["[]", "1"]
