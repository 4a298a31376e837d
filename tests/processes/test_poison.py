"""A handler that kills its process ends as a dead letter; its good neighbours lose nothing."""

from uuid import UUID

import pytest

from tests.support.hub import Hub
from tests.support.wait import until
from tests.support.workers import is_alive

NEIGHBOURS = 20
DEATHS = 4

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def neighbours_in_flight(hub: Hub, names: list[str]) -> list[UUID]:
    """Twenty good jobs, all of them running until they are let go."""
    jobs = hub.put("proof.beside", [{"name": name} for name in names])
    for name in names:
        hub.said(f"{name}-1")
    return jobs


def test_a_job_that_kills_its_worker_is_a_dead_letter_and_its_neighbours_lose_no_attempt(
    hub: Hub,
) -> None:
    worker = hub.ready("--threads", str(NEIGHBOURS + 1))
    (poison,) = hub.put("proof.poison", [{"name": "poison"}], max_attempts=3)
    good: list[UUID] = []
    killed: set[str] = set()
    for death in range(DEATHS):
        pid, _, fence = hub.said_anew("poison", killed)
        alone = int(pid) not in [child.pid for child in worker.regular()]
        assert alone == (death > 0), "only the first run has neighbours in its own child"
        names = [f"good-{death}-{number}" for number in range(NEIGHBOURS)]
        good += neighbours_in_flight(hub, names)
        hub.let_go(fence)
        until(lambda pid=pid: not is_alive(int(pid)), message="the death of its process")  # type: ignore[misc]
        for name in names:
            hub.let_go(f"{name}-1")
        killed.add(fence)
    dead = hub.reaches(poison, "DEAD", within=120)

    assert dead["error_code"] == "worker_died"
    assert hub.failures(poison) == [
        (1, False, "worker_died"),
        (1, True, "worker_died"),
        (2, True, "worker_died"),
        (3, True, "worker_died"),
    ]
    rows = [hub.reaches(job_id, "SUCCEEDED", within=120) for job_id in good]
    assert {row["attempts"] for row in rows} == {1}
    assert len(hub.effects()) == len(good) == NEIGHBOURS * DEATHS
    assert worker.alive
