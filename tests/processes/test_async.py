"""Handlers that are ``async def`` run many at a time, and end in every way as any other's attempts do."""

from collections.abc import Collection
from signal import SIGTERM

import pytest

from tests.support.answering import AnsweringServer
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BRISK = {"RENEW_EVERY": 1, "RESCUE_EVERY": 1}


def fence_of(hub: Hub, name: str, *, attempt: int = 1) -> str:
    """Wait for an attempt to begin; answers the fence of its newest run."""
    return hub.said(f"{name}-{attempt}")[2]


def test_as_many_jobs_wait_at_once_as_may_be_in_flight_and_all_are_done(hub: Hub) -> None:
    with AnsweringServer(seconds=0.5) as server:
        ids = hub.put("afloat.call", [{"host": "127.0.0.1", "port": server.port}] * 150)
        hub.ready("--async-jobs", "50")
        hub.all_reach("SUCCEEDED")
        assert server.most == 50
        assert server.asked == {str(job): 1 for job in ids}
        result = hub.job(ids[0])["result"]
        assert result == {"answer": str(ids[0])}


def test_jobs_on_the_loop_and_jobs_on_threads_do_not_wait_for_each_other(hub: Hub) -> None:
    afloat = [f"afloat-{number}" for number in range(5)]
    beside = [f"beside-{number}" for number in range(2)]
    hub.put("afloat.gated", [{"name": name} for name in afloat])
    hub.put("proof.beside", [{"name": name} for name in beside])
    hub.ready("--async-jobs", "3", "--threads", "1")
    running = until(lambda: begun(hub, afloat, at_least=3), timeout=PATIENT)
    (thread,) = until(lambda: begun(hub, beside, at_least=1), timeout=PATIENT)
    # Both are full now. The rest of each begins when there is room of its own.
    hub.let_go(f"{thread}-1")
    (other,) = set(beside) - {thread}
    hub.said(f"{other}-1")
    assert begun(hub, afloat) == running
    for name in running:
        hub.let_go(fence_of(hub, name))
    for name in set(afloat) - set(running):
        hub.let_go(fence_of(hub, name))
    hub.let_go(f"{other}-1")
    hub.all_reach("SUCCEEDED")


def begun(hub: Hub, names: Collection[str], *, at_least: int = 0) -> list[str] | None:
    found = [name for name in names if hub.lines(f"{name}-1")]
    return found if len(found) >= at_least else None


def test_a_queues_cap_holds_for_jobs_on_the_loop(hub: Hub) -> None:
    names = [f"backup-{number}" for number in range(3)]
    hub.put("afloat.gated", [{"name": name} for name in names], queue="backups")
    hub.ready("--queues", "default,backups=1")
    left = list(names)
    while left:
        (running,) = until(lambda: begun(hub, left, at_least=1), timeout=PATIENT) or []
        (probe,) = hub.put("afloat.short", [{"name": f"probe-{running}"}])
        hub.let_go(f"probe-{running}-1")
        hub.reaches(probe, "SUCCEEDED")
        assert begun(hub, left) == [running]
        hub.let_go(fence_of(hub, running))
        left.remove(running)
    hub.all_reach("SUCCEEDED")


def test_a_queues_cap_counts_the_loop_and_the_threads_together(hub: Hub) -> None:
    afloat = [f"afloat-{number}" for number in range(2)]
    beside = [f"beside-{number}" for number in range(2)]
    hub.put("afloat.gated", [{"name": name} for name in afloat], queue="backups")
    hub.put("proof.beside", [{"name": name} for name in beside], queue="backups")
    hub.ready("--queues", "default,backups=1")
    left = [*afloat, *beside]
    while left:
        (running,) = until(lambda: begun(hub, left, at_least=1), timeout=PATIENT) or []
        probes = [
            *hub.put("afloat.short", [{"name": f"probe-{running}"}]),
            *hub.put("proof.effect", [{"name": f"threads-{running}"}]),
        ]
        hub.let_go(f"probe-{running}-1")
        for probe in probes:
            hub.reaches(probe, "SUCCEEDED")
        assert begun(hub, left) == [running]
        held = "SELECT id FROM hubqueue_job WHERE queue = 'backups' AND state = 'RUNNING'"
        assert len(hub.rows(held)) == 1
        hub.let_go(f"{running}-1")
        hub.let_go(fence_of(hub, running))
        left.remove(running)
    hub.all_reach("SUCCEEDED")


OUTCOMES = {
    "": ("SUCCEEDED", 1, []),
    "write retry": ("READY", 1, [(1, True, "retry")]),
    "fail": ("READY", 1, [(1, True, "exception")]),
    "cancel": ("READY", 1, [(1, True, "exception")]),
    "dead": ("DEAD", 1, [(1, True, "as_asked")]),
    "park": ("PARKED", 0, []),
    "repeat": ("READY", 0, []),
}


def test_every_outcome_settles_as_any_other_attempts_does(hub: Hub) -> None:
    names = [f"outcome-{number}" for number in range(len(OUTCOMES))]
    jobs = hub.put("afloat.gated", [{"name": name} for name in names])
    worker = hub.ready()
    for name, words in zip(names, OUTCOMES, strict=True):
        hub.let_go(fence_of(hub, name), words)
    worker.signal(SIGTERM)
    assert worker.ended() == 0, worker.said()
    for job, (state, attempts, failures) in zip(jobs, OUTCOMES.values(), strict=True):
        row = hub.job(job)
        assert (row["state"], row["attempts"]) == (state, attempts)
        assert hub.failures(job) == failures
    done, dead = hub.job(jobs[0]), names[list(OUTCOMES).index("dead")]
    assert f"outcome-0 recorded by {done['fence']}" in hub.effects()
    assert f"abandoned {dead}" in hub.effects()


CANCELLED = ["await", "swallowed", "sql", "sql in a transaction", "loop in a thread"]
ENDED_WITH_THEIR_CHILD = ["swallows for ever", "blocks the loop"]


@pytest.mark.parametrize("how", CANCELLED + ENDED_WITH_THEIR_CHILD)
def test_a_handler_that_hangs_times_out_and_the_next_jobs_run(hub: Hub, how: str) -> None:
    worker = hub.ready("--async-jobs", "4")
    before = {child.pid for child in worker.children()}
    count = 4 if how in CANCELLED else 1
    hanging = [{"name": f"hang-{number}", "how": how} for number in range(count)]
    jobs = hub.put("afloat.hang", hanging, max_attempts=1)
    for job in jobs:
        row = hub.reaches(job, "DEAD")
        assert (row["attempts"], row["error_code"]) == (1, "timeout")
        assert hub.failures(job) == [(1, True, "timeout")]
    assert hub.effects() == []
    names = [f"normal-{number}" for number in range(8)]
    for name in names:
        hub.let_go(f"{name}-1")
    for job in hub.put("afloat.short", [{"name": name} for name in names]):
        hub.reaches(job, "SUCCEEDED")
    assert hub.effects() == names
    assert (before == {child.pid for child in worker.regular()}) == (how in CANCELLED)
    assert idle_in_transaction(hub) == 0


def idle_in_transaction(hub: Hub) -> int:
    rows = hub.rows(
        "SELECT pid FROM pg_stat_activity WHERE state LIKE 'idle in transaction%%'"
        " AND application_name LIKE 'hubqueue-%%' AND datname = current_database()"
    )
    return len(rows)
