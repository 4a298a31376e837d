"""Whatever signal comes when, the worker ends in time, with nothing claimed and nothing spent that was not done."""

import os
import time
from collections.abc import Callable
from signal import SIGHUP, SIGINT, SIGTERM, Signals

import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.wait import until
from tests.support.workers import WorkerTree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHORT_LEASE = {"LEASE": 6, "RENEW_EVERY": 1, "RESCUE_EVERY": 1, "TRANSACTIONAL_TIMEOUT": 5}
ROUNDS = int(os.environ.get("PROOF_ROUNDS", "2"))


def nobody_left(worker: WorkerTree) -> None:
    """Every process of the group ends with the supervisor or right after it."""

    def gone() -> bool:
        try:
            os.killpg(worker.pid, 0)
        except ProcessLookupError:
            return True
        return False

    until(gone, timeout=30, message="the end of all children")


def nothing_claimed(hub: Hub) -> None:
    """What ran is done with one attempt, everything else stands as if it had never been claimed."""
    for row in hub.rows("SELECT state, attempts, claimed_by FROM hubqueue_job"):
        assert (row["state"], row["attempts"], row["claimed_by"]) in {
            ("READY", 0, None),
            ("SUCCEEDED", 1, None),
        }


def put_work(hub: Hub, count: int) -> None:
    hub.put("proof.effect", [{"name": f"job-{number}", "seconds": 0.02} for number in range(count)])


@pytest.mark.parametrize("waiting", [0, 100])
@pytest.mark.parametrize("milliseconds", [0, 5, 20, 50, 100, 300, 800])
def test_a_stop_during_the_start_ends_the_worker(hub: Hub, milliseconds: int, waiting: int) -> None:
    put_work(hub, waiting)
    for _ in range(ROUNDS):
        worker = hub.start("--processes", "2", "--threads", "4")
        time.sleep(milliseconds / 1000)  # the moment is what is tried here
        worker.signal(SIGTERM)
        # Before the supervisor listens, there is nobody else yet, and the signal's own end is right.
        assert worker.ended() in (0, -SIGTERM)
        nobody_left(worker)
        nothing_claimed(hub)


STAGES: dict[str, Callable[[Hub, WorkerTree], object]] = {
    "a child was started": lambda hub, worker: worker.children(),
    "a child is registered": lambda hub, worker: hub.rows("SELECT id FROM hubqueue_worker"),
    "a job runs": lambda hub, worker: hub.lines("attempts"),
}


@pytest.mark.parametrize("whole_group", [False, True], ids=["supervisor", "group"])
@pytest.mark.parametrize("stage", list(STAGES))
@pytest.mark.parametrize("number", [SIGTERM, SIGINT])
def test_a_stop_at_each_stage_of_the_start_ends_the_worker(
    hub: Hub, number: Signals, stage: str, whole_group: bool
) -> None:
    put_work(hub, 100)
    worker = hub.start("--processes", "2", "--threads", "4", "--scheduler")
    until(lambda: STAGES[stage](hub, worker), timeout=PATIENT, message=stage)
    (worker.signal_group if whole_group else worker.signal)(number)
    assert worker.ended() == 0, worker.said()
    nobody_left(worker)
    nothing_claimed(hub)


@pytest.mark.parametrize("whole_group", [False, True], ids=["supervisor", "group"])
@pytest.mark.parametrize("number", [SIGTERM, SIGINT, SIGHUP])
def test_jobs_in_flight_finish_and_nothing_else_is_started(
    hub: Hub, number: Signals, whole_group: bool
) -> None:
    names = [f"beside-{each}" for each in range(4)]
    hub.put("proof.beside", [{"name": name} for name in names])
    worker = hub.ready("--threads", "4")
    for name in names:
        hub.said(f"{name}-1")
    put_work(hub, 20)
    (worker.signal_group if whole_group else worker.signal)(number)
    for name in names:
        hub.let_go(f"{name}-1")
    assert worker.ended() == 0
    nothing_claimed(hub)
    assert hub.effects() == names
    assert hub.states() == {"SUCCEEDED": 4, "READY": 20}


@pytest.mark.parametrize("kind", ["proof.beside", "proof.gated_detached"])
def test_a_second_signal_interrupts_and_what_ran_is_ready_and_unspent(hub: Hub, kind: str) -> None:
    names = [f"beside-{each}" for each in range(4)]
    jobs = hub.put(kind, [{"name": name} for name in names])
    worker = hub.ready("--threads", "4")
    for name in names:
        hub.said(f"{name}-1")
    began = time.monotonic()
    assert worker.interrupt() == 0
    print(f"ended {time.monotonic() - began:.2f} s after the second signal")
    nothing_claimed(hub)
    assert hub.states() == {"READY": 4}
    assert hub.effects() == []
    assert [hub.failures(job) for job in jobs] == [[(1, False, "interrupted")]] * 4


def test_the_grace_time_ends_in_an_interrupt(hub: Hub) -> None:
    (job,) = hub.put("proof.beside", [{"name": "beside"}])
    worker = hub.ready("--grace", "1")
    hub.said("beside-1")
    worker.signal(SIGTERM)
    assert worker.ended() == 0
    nothing_claimed(hub)
    assert hub.failures(job) == [(1, False, "interrupted")]


def test_a_handler_that_catches_everything_cannot_stop_the_end(hub: Hub) -> None:
    hub.put("proof.stubborn", [{"name": "stubborn"}])
    worker = hub.ready("--grace", "1")
    hub.said("stubborn-1")
    worker.signal(SIGTERM)
    assert hub.said("caught") == ["Interrupted"]
    assert worker.ended() == 0
    nobody_left(worker)
    nothing_claimed(hub)
    assert hub.states() == {"READY": 1}


def test_a_handler_that_catches_the_interrupt_and_returns_has_not_succeeded(hub: Hub) -> None:
    (job,) = hub.put("proof.stubborn", [{"name": "stubborn"}])
    worker = hub.ready("--grace", "1")
    hub.said("stubborn-1")
    worker.signal(SIGTERM)
    hub.said("caught")
    hub.let_go("stubborn-1")
    assert worker.ended() == 0
    nothing_claimed(hub)
    assert hub.failures(job) == [(1, False, "interrupted")]


def test_leases_are_renewed_while_the_worker_drains(hub: Hub) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    worker = hub.ready(seconds=SHORT_LEASE)
    _, holder, fence = hub.said("slow-1")
    idle = hub.ready(seconds=SHORT_LEASE)
    worker.signal(SIGTERM)

    def lease() -> float:
        (row,) = hub.rows(
            "SELECT extract(epoch FROM lease_until)::float AS until FROM hubqueue_worker WHERE id = %s",
            [holder],
        )
        return float(row["until"])

    first = lease()
    until(lambda: lease() > first + 2 * SHORT_LEASE["LEASE"], timeout=PATIENT, message="renewals")
    row = hub.job(job)
    assert (row["state"], str(row["claimed_by"]), row["fence"]) == ("RUNNING", holder, int(fence))
    hub.let_go(fence)
    assert worker.ended() == 0
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert len(hub.lines("attempts")) == 1
    assert idle.alive
    assert "job rescued" not in idle.said()
