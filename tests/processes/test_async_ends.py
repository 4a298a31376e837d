"""How attempts on an event loop end when something ends them: deaths, signals, stop requests, neighbours."""

from signal import SIGKILL, SIGTERM

import pytest

from hubqueue import officers
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until
from tests.support.workers import send

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BRISK = {"RENEW_EVERY": 1, "RESCUE_EVERY": 1}
NAMES = [f"wait-{number}" for number in range(3)]


def fence_of(hub: Hub, name: str) -> str:
    """Wait for the attempt to begin; answers its fence."""
    return hub.said(f"{name}-1")[2]


def test_a_job_whose_child_is_killed_while_it_waits_runs_again_unspent(hub: Hub) -> None:
    (job,) = hub.put("afloat.gated", [{"name": "waits"}])
    worker = hub.ready(seconds=BRISK)
    first = fence_of(hub, "waits")
    (child,) = worker.regular()
    send(child.pid, SIGKILL)
    second = hub.said_anew("waits", {first})[2]
    hub.let_go(second, "guarded")
    row = hub.reaches(job, "SUCCEEDED")
    assert (row["attempts"], row["result"]) == (1, {"by": int(second)})
    assert hub.failures(job) == [(1, False, "worker_died")]
    assert hub.effects() == [f"waits guarded by {second}", f"waits recorded by {second}"]


def test_a_zombies_transaction_is_refused_after_its_job_went_on_elsewhere(hub: Hub) -> None:
    (job,) = hub.put("afloat.gated", [{"name": "zombie"}])
    frozen = hub.ready(seconds=BRISK | {"LEASE": 4, "TRANSACTIONAL_TIMEOUT": 3})
    first = fence_of(hub, "zombie")
    stopped = frozen.freeze()
    hub.ready(seconds=BRISK | {"LEASE": 4, "TRANSACTIONAL_TIMEOUT": 3})
    second = hub.said_anew("zombie", {first})[2]
    hub.let_go(first, "guarded")
    frozen.thaw(stopped)
    until(lambda: '"event": "lease lost"' in frozen.said(), timeout=PATIENT, message="a refusal")
    assert hub.effects() == []
    hub.let_go(second, "guarded")
    row = hub.reaches(job, "SUCCEEDED")
    assert (row["attempts"], row["result"]) == (1, {"by": int(second)})
    assert hub.effects() == [f"zombie guarded by {second}", f"zombie recorded by {second}"]


def test_an_officers_stop_and_progress_reach_a_handler_that_waits(hub: Hub) -> None:
    (job,) = hub.put("afloat.gated", [{"name": "long"}])
    hub.ready(seconds=BRISK)
    hub.let_go(fence_of(hub, "long"), "progress")
    until(lambda: hub.job(job)["progress"] == 0.5, timeout=PATIENT, message="the progress")
    officers.cancel(job, actor="test", reason="not wanted")
    hub.reaches(job, "CANCELLED")
    assert hub.failures(job) == [(1, False, "stop_requested")]
    assert hub.effects() == ["abandoned long"]


def test_at_the_end_what_waits_may_finish(hub: Hub) -> None:
    jobs = hub.put("afloat.gated", [{"name": name} for name in NAMES])
    worker = hub.ready()
    fences = [fence_of(hub, name) for name in NAMES]
    worker.signal(SIGTERM)
    for fence in fences:
        hub.let_go(fence, "guarded")
    assert worker.ended() == 0, worker.said()
    assert {hub.job(job)["state"] for job in jobs} == {"SUCCEEDED"}


@pytest.mark.parametrize("how", ["second signal", "grace"])
def test_what_does_not_finish_is_interrupted_and_unspent(hub: Hub, how: str) -> None:
    jobs = hub.put("afloat.gated", [{"name": name} for name in NAMES])
    worker = hub.ready("--grace", "1" if how == "grace" else "60")
    for name in NAMES:
        fence_of(hub, name)
    if how == "grace":
        worker.signal(SIGTERM)
        assert worker.ended() == 0, worker.said()
    else:
        assert worker.interrupt() == 0, worker.said()
    for job in jobs:
        assert (hub.job(job)["state"], hub.job(job)["attempts"]) == ("READY", 0)
        assert hub.failures(job) == [(1, False, "interrupted")]


def test_who_blocks_the_loop_pays_for_it_and_not_its_neighbours(hub: Hub) -> None:
    """The neighbours' timeouts pass while the loop does not turn; that of the one that keeps it is hours away."""
    names = ["neighbour-1", "neighbour-2"]
    jobs = hub.put("afloat.short", [{"name": name} for name in names], max_attempts=1)
    (blocker,) = hub.put("afloat.blocker", [{"name": "blocker"}], max_attempts=1)
    hub.ready(seconds=BRISK)
    row = hub.reaches(blocker, "DEAD")
    assert (row["attempts"], row["error_code"]) == (1, "timeout")
    for name, job in zip(names, jobs, strict=True):
        assert "timeout" not in [code for _, _, code in hub.failures(job)], hub.failures(job)
        hub.let_go(f"{name}-1")
    for job in jobs:
        hub.reaches(job, "SUCCEEDED")
