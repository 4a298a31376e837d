"""A handler that does not end is ended: it counts as a timeout, and its slot works again."""

from signal import SIGTERM

import pytest

from tests.support.hub import Hub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SLOTS = 4
# What an exception on the thread or a cancelled statement reaches; the rest takes its child along.
INTERRUPTED = ["sql", "swallowed sql", "loop"]
HOLDING_THE_GIL = ["regex", "pow", "gil"]
ENDED_WITH_ITS_CHILD = ["sleep", "socket", "subprocess", *HOLDING_THE_GIL]


def normal_jobs_run(hub: Hub) -> None:
    names = [f"normal-{number:02}" for number in range(20)]
    jobs = hub.put("proof.effect", [{"name": name} for name in names])
    rows = [hub.reaches(job, "SUCCEEDED") for job in jobs]
    assert {row["attempts"] for row in rows} == {1}
    assert [name for name in hub.effects() if name.startswith("normal")] == names


@pytest.mark.parametrize("how", INTERRUPTED + ENDED_WITH_ITS_CHILD)
def test_a_handler_that_hangs_times_out_and_its_slots_come_back(hub: Hub, how: str) -> None:
    worker = hub.ready("--threads", str(SLOTS))
    before = {child.pid for child in worker.children()}
    names = [f"hang-{number}" for number in range(2 if how in HOLDING_THE_GIL else SLOTS)]
    jobs = hub.put("proof.hang", [{"name": name, "how": how} for name in names], max_attempts=1)
    for job in jobs:
        row = hub.reaches(job, "DEAD", within=120)
        assert (row["attempts"], row["error_code"]) == (1, "timeout")
        *earlier, last = hub.failures(job)
        assert last == (1, True, "timeout")
        # While one holds the interpreter's lock nobody can tell which, until each has run alone.
        assert set(earlier) <= ({(1, False, "worker_died")} if how in HOLDING_THE_GIL else set())
    assert hub.effects() == []
    normal_jobs_run(hub)
    stayed = before == {child.pid for child in worker.regular()}
    assert stayed == (how in INTERRUPTED)
    worker.signal(SIGTERM)
    assert worker.ended() == 0


def test_neighbours_of_a_hanging_handler_come_back_unspent_and_are_no_suspects(hub: Hub) -> None:
    names = [f"beside-{number}" for number in range(SLOTS - 1)]
    beside = hub.put("proof.gated_detached", [{"name": name} for name in names])
    worker = hub.ready("--threads", str(SLOTS))
    first = {hub.said(f"{name}-1")[0] for name in names}
    (hanging,) = hub.put("proof.hang", [{"name": "hang", "how": "sleep"}], max_attempts=1)
    assert hub.reaches(hanging, "DEAD")["error_code"] == "timeout"
    again = [hub.said_anew(name, fences(hub, name)) for name in names]
    assert {pid for pid, _, _ in again}.isdisjoint(first)
    assert {int(pid) for pid, _, _ in again} <= {child.pid for child in worker.regular()}
    for _, _, fence in again:
        hub.let_go(fence)
    for job in beside:
        row = hub.reaches(job, "SUCCEEDED")
        assert (row["attempts"], row["suspect"], hub.failures(job)) == (1, False, [])


def fences(hub: Hub, name: str) -> set[str]:
    """The fence of the first run."""
    return {hub.lines(f"{name}-1")[0].split()[2]}


def test_members_of_a_slow_group_run_one_by_one_each_in_its_own_time(hub: Hub) -> None:
    """Together they take longer than one of them may, and the first is done long before the last."""
    worker = hub.ready("--threads", "1")
    before = [child.pid for child in worker.regular()]
    names = [f"slow-{number:02}" for number in range(12)]
    jobs = hub.put("proof.slow_grouped", [{"name": name, "seconds": 0.5} for name in names])
    rows = [hub.reaches(job, "SUCCEEDED", within=120) for job in jobs]
    assert {row["attempts"] for row in rows} == {1}
    assert [hub.failures(job) for job in jobs] == [[]] * len(jobs)
    assert hub.effects() == names
    assert [child.pid for child in worker.regular()] == before
