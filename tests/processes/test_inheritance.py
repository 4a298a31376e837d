"""What one process has, none that it starts gets by accident: no connection, no luck of the dice."""

import os
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from hubqueue.ids import uuid7
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until


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
