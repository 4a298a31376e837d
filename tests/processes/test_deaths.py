"""Whoever dies, what it held runs again soon, elsewhere, and nobody who lives is taken for dead."""

import time
from signal import SIGKILL, SIGTERM

import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.wait import until
from tests.support.workers import is_alive, send

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BRISK = {"RENEW_EVERY": 1, "RESCUE_EVERY": 1}
SHORT_LEASE = {"LEASE": 4, "RENEW_EVERY": 1, "RESCUE_EVERY": 1, "TRANSACTIONAL_TIMEOUT": 3}
LONG_LEASE = {"LEASE": 3600}


def runs_again(hub: Hub, name: str, fence: str, since: float) -> list[str]:
    """Wait for another run; print how long it took."""
    again = hub.said_anew(name, {fence})
    print(f"ran again {time.monotonic() - since:.1f} s after the death")
    return again


def test_a_killed_child_s_job_runs_again(hub: Hub) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    worker = hub.ready()
    pid, _, fence = hub.said("slow-1")
    send(int(pid), SIGKILL)
    again = runs_again(hub, "slow", fence, time.monotonic())
    hub.let_go(again[2])
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert hub.failures(job) == [(1, False, "worker_died")]
    assert worker.alive


def test_a_killed_supervisor_takes_its_children_along_and_the_job_runs_elsewhere(hub: Hub) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    worker = hub.ready("--processes", "2", "--scheduler")
    _, _, fence = hub.said("slow-1")
    below = worker.pids()[1:]
    hub.ready()
    send(worker.pid, SIGKILL)
    since = time.monotonic()
    again = runs_again(hub, "slow", fence, since)
    assert int(again[0]) not in below
    until(lambda: not any(map(is_alive, below)), timeout=PATIENT, message="the children's end")
    print(f"children gone {time.monotonic() - since:.1f} s after their supervisor")
    hub.let_go(again[2])
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert hub.failures(job) == [(1, False, "interrupted")]


def test_a_killed_tree_s_job_runs_elsewhere_well_before_the_lease_has_passed(hub: Hub) -> None:
    """Nobody is left to hand anything back: others see that its sessions are gone and its lease is not renewed."""
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    worker = hub.ready(seconds=LONG_LEASE)
    _, _, fence = hub.said("slow-1")
    other = hub.ready(seconds=LONG_LEASE)
    worker.kill_tree()
    again = runs_again(hub, "slow", fence, time.monotonic())
    assert '"cause": "session"' in other.said()
    hub.let_go(again[2])
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1


def test_a_killed_tree_with_a_longer_lease_than_ours_is_found_by_its_missing_session_too(
    hub: Hub,
) -> None:
    hub.put("proof.gated_detached", [{"name": "slow"}])
    worker = hub.ready(seconds=LONG_LEASE)
    _, _, fence = hub.said("slow-1")
    other = hub.ready()
    worker.kill_tree()
    runs_again(hub, "slow", fence, time.monotonic())
    assert '"cause": "session"' in other.said()


def test_a_worker_that_starts_anew_does_not_keep_the_jobs_of_its_predecessor(hub: Hub) -> None:
    """Same host, same command: an identity is one start of one process."""
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    first = hub.ready(seconds=BRISK)
    _, holder, fence = hub.said("slow-1")
    first.kill_tree()
    second = hub.ready(seconds=BRISK)
    again = runs_again(hub, "slow", fence, time.monotonic())
    assert again[1] != holder
    assert len(list(hub.home.glob("hubqueue-metrics-*"))) == 1, "the predecessor's is swept"
    known = {child.worker for child in second.children()}
    assert holder not in {str(each) for each in known}
    hub.let_go(again[2])
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    until(
        lambda: not hub.rows("SELECT FROM hubqueue_worker WHERE id = %s", [holder]),
        timeout=PATIENT,
        message="the end of the dead worker's row",
    )


def test_a_handler_that_holds_the_gil_for_three_leases_keeps_its_job(hub: Hub) -> None:
    seconds = 3 * SHORT_LEASE["LEASE"]
    (job,) = hub.put("proof.gil", [{"name": "gil", "seconds": seconds}])
    hub.ready("--threads", "2", seconds=SHORT_LEASE)
    _, holder, fence = hub.said("gil-1")
    idle = hub.ready(seconds=SHORT_LEASE)
    leases = set()

    def ended() -> bool:
        for row in hub.rows("SELECT lease_until FROM hubqueue_worker WHERE id = %s", [holder]):
            leases.add(row["lease_until"])
        return hub.job(job)["state"] != "RUNNING"

    until(ended, timeout=PATIENT, message="the handler's end")
    row = hub.job(job)
    assert (row["state"], row["attempts"], str(row["fence"])) == ("SUCCEEDED", 1, fence)
    assert len(hub.lines("attempts")) == 1
    assert len(leases) > seconds / 2, "renewed about once a second"
    assert "job rescued" not in idle.said()


def test_a_poisonous_job_is_a_suspect_even_when_its_worker_is_draining(hub: Hub) -> None:
    (poison,) = hub.put("proof.poison", [{"name": "poison"}])
    worker = hub.ready()
    _, _, fence = hub.said("poison-1")
    worker.signal(SIGTERM)
    hub.let_go(fence)
    assert worker.ended() == 0
    row = hub.job(poison)
    assert (row["state"], row["attempts"], row["suspect"]) == ("READY", 0, True)
    assert hub.failures(poison) == [(1, False, "worker_died")]


def test_a_killed_child_whose_session_still_holds_the_row_is_reaped_with_what_was_known(
    hub: Hub,
) -> None:
    """The server learns of the death later than the supervisor: what hung is a timeout all the same."""
    (hanging,) = hub.put("proof.hang", [{"name": "hang", "how": "held row"}], max_attempts=1)
    hub.ready()
    row = hub.reaches(hanging, "DEAD")
    assert (row["error_code"], row["attempts"]) == ("timeout", 1)
    assert hub.failures(hanging) == [(1, True, "timeout")]
