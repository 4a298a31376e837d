"""PostgreSQL goes away and comes back: everything goes on by itself, and nobody pays for it."""

import time
from collections.abc import Callable, Iterator
from signal import SIGTERM
from typing import Any
from uuid import UUID

import psycopg
import pytest

from hubqueue.lifecycle.connections import IDLE_FOR
from tests.support.hub import PATIENT, Hub
from tests.support.postgres import Cluster
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

AWAY = 20.0
SECONDS = {"RENEW_EVERY": 1, "RESCUE_EVERY": 1, "STATEMENT_DEADLINE": 3}
LONGS = 4


@pytest.fixture
def postgres() -> Iterator[Cluster]:
    with Cluster(settings={"max_connections": "100"}) as cluster:
        yield cluster


def restart_fast(postgres: Cluster) -> None:
    postgres.restart("fast")


def restart_immediate(postgres: Cluster) -> None:
    postgres.restart("immediate")


def cut_all_sessions(postgres: Cluster) -> None:
    postgres.terminate_backends()


def away_for_a_while(postgres: Cluster) -> None:
    postgres.stop("fast")
    time.sleep(AWAY)  # the length of the outage is what is tried
    postgres.start()


def read_only_for_a_while(postgres: Cluster) -> None:
    """As on a server that was demoted: sessions stay, every write is refused."""
    postgres.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    postgres.execute("SELECT pg_reload_conf()")
    time.sleep(5)
    with psycopg.connect(postgres.url(), autocommit=True) as session:
        session.execute("SET default_transaction_read_only = off")
        session.execute("ALTER SYSTEM RESET default_transaction_read_only")
        session.execute("SELECT pg_reload_conf()")


def table_locked_for_a_while(postgres: Cluster) -> None:
    """Longer than the deadline of the engine's own statements."""
    with psycopg.connect(postgres.url()) as session:
        session.execute("LOCK TABLE hubqueue_job IN ACCESS EXCLUSIVE MODE")
        time.sleep(2.5 * SECONDS["STATEMENT_DEADLINE"])


OUTAGES: list[Callable[[Cluster], None]] = [
    restart_fast,
    restart_immediate,
    cut_all_sessions,
    away_for_a_while,
    read_only_for_a_while,
    table_locked_for_a_while,
]


class Crew:
    """Two workers, and long jobs in flight in them that the test lets go."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.trees = [hub.ready("--threads", "6", seconds=SECONDS) for _ in range(2)]
        self.pids = [tree.pids() for tree in self.trees]
        names = [f"long-{number}" for number in range(LONGS)]
        self.longs = hub.put("proof.gated_detached", [{"name": name} for name in names])
        self.fences = [hub.said(f"{name}-1")[2] for name in names]

    def nothing_was_taken(self) -> None:
        """The long jobs are where they were, well after every worker could have rescued them."""
        self.pass_renewals(5)
        rows = [self.hub.job(job) for job in self.longs]
        assert [(row["state"], str(row["fence"])) for row in rows] == [
            ("RUNNING", fence) for fence in self.fences
        ]

    def pass_renewals(self, count: int) -> None:
        """Wait for so many renewals of every lease."""
        for _ in range(count):
            before = self.leases()
            until(lambda before=before: not before & self.leases(), timeout=PATIENT)  # type: ignore[misc]

    def leases(self) -> set[tuple[Any, ...]]:
        rows = self.hub.rows("SELECT id, lease_until FROM hubqueue_worker")
        return {tuple(row.values()) for row in rows}

    def finish(self) -> None:
        """The long jobs end with their one attempt; the same processes are there, and never rescued anything."""
        for fence in self.fences:
            self.hub.let_go(fence)
        for job in self.longs:
            row = self.hub.reaches(job, "SUCCEEDED")
            assert (row["attempts"], self.hub.failures(job)) == (1, [])
        assert [tree.pids() for tree in self.trees] == self.pids
        for tree in self.trees:
            assert "job rescued" not in tree.said()
            assert "Traceback" not in tree.said()


def work_goes_on(hub: Hub, name: str) -> None:
    began = time.monotonic()
    (job,) = hub.put("proof.effect", [{"name": name}])
    hub.reaches(job, "SUCCEEDED")
    print(f"{name}: done {time.monotonic() - began:.1f} s after it was put")


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_under_load_costs_no_attempt(
    postgres: Cluster, private_hub: Any, outage: Callable[[Cluster], None]
) -> None:
    hub = private_hub(postgres.url())
    crew = Crew(hub)
    names = [f"job-{number:03}" for number in range(400)]
    jobs = hub.put(
        "proof.effect",
        [
            {"name": name, "seconds": 0.3, "hold": number % 3 == 0}
            for number, name in enumerate(names)
        ],
    )
    until(lambda: hub.states()["SUCCEEDED"] >= 20, timeout=PATIENT, message="some work done")
    outage(postgres)
    began = time.monotonic()
    until(lambda: hub.states()["SUCCEEDED"] == len(names), timeout=120, message="all work done")
    print(f"all done {time.monotonic() - began:.1f} s after the outage")
    crew.nothing_was_taken()

    assert hub.effects() == names
    rows = hub.rows("SELECT attempts FROM hubqueue_job WHERE id = ANY (%s)", [jobs])
    assert {row["attempts"] for row in rows} == {1}
    history = hub.rows("SELECT DISTINCT spent, code FROM hubqueue_failure")
    print([tuple(row.values()) for row in history])
    assert not any(row["spent"] for row in history)
    crew.finish()


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_with_nothing_to_do_leaves_workers_that_work(
    postgres: Cluster, private_hub: Any, outage: Callable[[Cluster], None]
) -> None:
    hub = private_hub(postgres.url())
    crew = Crew(hub)
    work_goes_on(hub, "before")
    outage(postgres)
    work_goes_on(hub, "after")
    crew.nothing_was_taken()
    crew.finish()


def test_sessions_that_were_cut_while_threads_idled_cost_no_job_a_failure(
    postgres: Cluster, private_hub: Any
) -> None:
    """Each thread has one, and most of them lie idle for long."""
    hub = private_hub(postgres.url())
    hub.ready("--threads", "4", seconds=SECONDS)

    def occupy(names: list[str]) -> list[UUID]:
        jobs = hub.put("proof.gated", [{"name": name} for name in names])
        for name in names:
            hub.let_go(hub.said(f"{name}-1")[2])
        for job in jobs:
            hub.reaches(job, "SUCCEEDED")
        return list(jobs)

    occupy(["a", "b", "c", "d"])
    idle = (
        "SELECT 1 FROM hubqueue_job"
        f" HAVING max(finished_at) < hubqueue_now() - interval '{1.5 * IDLE_FOR} s'"
    )
    until(lambda: hub.rows(idle), message="sessions that idled for long")
    postgres.terminate_backends()
    for job in occupy(["e", "f", "g", "h"]):
        assert hub.failures(job) == []


def test_a_job_that_ends_while_the_server_is_away_keeps_its_result(
    postgres: Cluster, private_hub: Any
) -> None:
    hub = private_hub(postgres.url())
    crew = Crew(hub)
    postgres.stop("fast")
    for fence in crew.fences:
        hub.let_go(fence)
    for name in [f"long-{number}" for number in range(LONGS)]:
        hub.said(f"ended-{name}")
    postgres.start()
    for job, fence in zip(crew.longs, crew.fences, strict=True):
        row = hub.reaches(job, "SUCCEEDED")
        assert (row["attempts"], row["result"]) == (1, {"by": int(fence)})
    assert len(hub.lines("attempts")) == LONGS


def test_when_nobody_can_renew_a_lease_nobody_is_taken_for_dead(
    postgres: Cluster, private_hub: Any
) -> None:
    """As on a primary that waits for its standby: reads work, and no renewal gets through."""
    hub = private_hub(postgres.url())
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    short = SECONDS | {"LEASE": 3, "TRANSACTIONAL_TIMEOUT": 2}
    for _ in range(2):
        hub.ready(seconds=short)
    _, holder, fence = hub.said("slow-1")
    with psycopg.connect(postgres.url()) as session:
        session.execute("LOCK TABLE hubqueue_worker IN SHARE MODE")
        time.sleep(3 * short["LEASE"])  # how long it lasts is what is tried
    renewed(hub, holder, 4)
    row = hub.job(job)
    assert (row["state"], str(row["fence"])) == ("RUNNING", fence)
    hub.let_go(fence)
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert hub.failures(job) == []


def test_a_draining_worker_is_not_taken_for_dead_after_its_sessions_were_cut(
    postgres: Cluster, private_hub: Any
) -> None:
    hub = private_hub(postgres.url())
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    worker = hub.ready(seconds=SECONDS)
    _, holder, fence = hub.said("slow-1")
    idle = hub.ready(seconds=SECONDS)
    worker.signal(SIGTERM)
    postgres.terminate_backends()
    renewed(hub, holder, 6)
    row = hub.job(job)
    assert (row["state"], str(row["fence"])) == ("RUNNING", fence)
    hub.let_go(fence)
    assert worker.ended() == 0
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert "job rescued" not in idle.said()


def test_a_handler_that_holds_the_gil_is_not_taken_for_dead_after_its_sessions_were_cut(
    postgres: Cluster, private_hub: Any
) -> None:
    """Its child cannot connect again meanwhile; its supervisor renews the lease, and that is enough."""
    hub = private_hub(postgres.url())
    (job,) = hub.put("proof.gil", [{"name": "gil", "seconds": 15}])
    hub.ready(seconds=SECONDS)
    _, _, fence = hub.said("gil-1")
    idle = hub.ready(seconds=SECONDS)
    postgres.terminate_backends()
    row = hub.reaches(job, "SUCCEEDED")
    assert (row["attempts"], row["result"], hub.failures(job)) == (1, {"by": 1}, [])
    assert len(hub.lines("attempts")) == 1
    assert "job rescued" not in idle.said()


def renewed(hub: Hub, worker: str, times: int) -> None:
    """Wait for so many renewals of one lease."""

    def lease() -> object:
        return hub.rows("SELECT lease_until FROM hubqueue_worker WHERE id = %s", [worker])

    for _ in range(times):
        before = lease()
        until(lambda before=before: lease() != before, timeout=PATIENT)  # type: ignore[misc]
