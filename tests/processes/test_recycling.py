"""Children are replaced between jobs: none is lost, none runs twice."""

from collections import Counter
from signal import SIGTERM

import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.wait import until
from tests.support.workers import send

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def all_ran_once(hub: Hub, names: list[str]) -> Counter[str]:
    """Every effect is there, every job took one run; answers how many runs each process had."""
    hub.all_reach("SUCCEEDED")
    assert hub.effects() == names
    lines = [line.split() for line in hub.lines("attempts")]
    assert sorted(name for name, *_ in lines) == names
    assert {row["attempts"] for row in hub.rows("SELECT attempts FROM hubqueue_job")} == {1}
    return Counter(pid for _, _, pid, _ in lines)


def test_a_child_is_replaced_after_so_many_jobs(hub: Hub) -> None:
    names = [f"job-{number:03}" for number in range(100)]
    hub.put("proof.effect", [{"name": name} for name in names])
    worker = hub.start("--threads", "4", "--max-jobs", "20")
    runs = all_ran_once(hub, names)
    print(dict(runs))
    # What was claimed ahead of its turn goes to the next child.
    assert max(runs.values()) <= 20
    worker.signal(SIGTERM)
    assert worker.ended() == 0
    assert "job rescued" not in worker.said()


def test_a_child_is_replaced_when_it_holds_too_much_memory(hub: Hub) -> None:
    names = [f"job-{number:02}" for number in range(12)]
    hub.put("proof.leak", [{"name": name, "mebibytes": 60} for name in names])
    worker = hub.start("--threads", "1", "--max-memory", "200")
    runs = all_ran_once(hub, names)
    print(dict(runs))
    assert max(runs.values()) <= 200 // 60, "it is replaced at once, not some jobs later"
    worker.signal(SIGTERM)
    assert worker.ended() == 0
    assert "job rescued" not in worker.said()


def test_a_memory_limit_below_the_idle_size_is_refused_in_one_sentence(hub: Hub) -> None:
    worker = hub.start("--max-memory", "5")
    assert worker.ended() == 1
    said = [line for line in worker.said().splitlines() if not line.startswith("{")]
    assert len(said) == 1, said
    assert "--max-memory" in said[0]
    assert "got 5 MiB" in said[0]


def test_a_child_asked_to_end_by_itself_finishes_its_jobs_and_is_replaced(hub: Hub) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    worker = hub.ready()
    pid, _, fence = hub.said("slow-1")
    send(int(pid), SIGTERM)
    hub.let_go(fence)
    hub.reaches(job, "SUCCEEDED")
    until(
        lambda: [child.pid for child in worker.regular()] not in ([], [int(pid)]),
        timeout=PATIENT,
        message="a new child",
    )
    hub.put("proof.effect", [{"name": "after"}])
    until(lambda: hub.effects() == ["after"], timeout=PATIENT)
