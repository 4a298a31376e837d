"""Through PgBouncer in transaction mode: with a direct address as quick as without it, and without one it polls."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.pgbouncer import PgBouncer, is_installed
from tests.support.postgres import Cluster
from tests.support.wait import until
from tests.support.workers import WorkerTree

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not is_installed(), reason="PgBouncer is not installed"),
]

SECONDS = {"RENEW_EVERY": 1, "RESCUE_EVERY": 1, "TICK": 1}
DOORBELL = re.compile(r"doorbell: .*pooler.*DIRECT_URL")
SCHEDULER = re.compile(r"scheduler.*(pooler|PgBouncer|DIRECT_URL)", re.IGNORECASE)


@pytest.fixture
def pooled(private_hub: Any) -> Iterator[tuple[Cluster, Hub]]:
    """A migrated database, and a hub that reaches it through the pooler."""
    with Cluster(tcp=True, settings={"max_connections": "60"}) as postgres:
        private_hub(postgres.url())
        with PgBouncer(postgres.url(), pool_size=8) as bouncer:
            hub = private_hub(bouncer.url(), migrated=False)
            yield postgres, hub
            hub.close()
            hub.trees.clear()


def a_hundred_jobs_run(hub: Hub) -> None:
    names = [f"job-{number:03}" for number in range(100)]
    hub.put("proof.effect", [{"name": name, "hold": True} for name in names])
    (detached,) = hub.put("proof.gated_detached", [{"name": "detached"}])
    fence = hub.said("detached-1")[2]
    hub.let_go(fence, "progress guarded")
    until(lambda: hub.job(detached)["progress"] == 0.5, timeout=PATIENT, message="progress")
    hub.say(f"told-{fence}")
    hub.all_reach("SUCCEEDED")
    assert hub.effects() == [f"detached guarded by {fence}", *names]
    assert {row["attempts"] for row in hub.rows("SELECT attempts FROM hubqueue_job")} == {1}


def listening(postgres: Cluster) -> int:
    rows = postgres.execute("SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
    return len(rows)


def warnings(worker: WorkerTree, pattern: re.Pattern[str]) -> list[str]:
    return [line for line in worker.said().splitlines() if pattern.search(line)]


def test_without_a_direct_address_it_polls_and_says_so_once(pooled: tuple[Cluster, Hub]) -> None:
    postgres, hub = pooled
    worker = hub.ready("--scheduler", seconds=SECONDS)
    a_hundred_jobs_run(hub)
    until(lambda: warnings(worker, SCHEDULER), timeout=PATIENT, message="a word of the scheduler")
    assert len(warnings(worker, DOORBELL)) == 1
    assert len(warnings(worker, SCHEDULER)) == 1
    assert listening(postgres) == 0
    assert hub.rows("SELECT bool_or(sessions_visible) AS visible FROM hubqueue_worker") == [
        {"visible": False}
    ]
    assert postgres.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'") == []
    assert "Traceback" not in worker.said()
    assert worker.interrupt() == 0


def test_with_a_direct_address_it_listens_and_leads(pooled: tuple[Cluster, Hub]) -> None:
    postgres, hub = pooled
    worker = hub.ready("--scheduler", seconds=SECONDS, HUBQUEUE_DIRECT_URL=postgres.url(tcp=True))
    until(lambda: listening(postgres) == 1, timeout=PATIENT, message="LISTEN")
    until(
        lambda: postgres.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"),
        timeout=PATIENT,
        message="leadership",
    )
    a_hundred_jobs_run(hub)
    assert warnings(worker, DOORBELL) == warnings(worker, SCHEDULER) == []
    assert hub.rows("SELECT bool_and(sessions_visible) AS visible FROM hubqueue_worker") == [
        {"visible": True}
    ]
    assert "Traceback" not in worker.said()
    assert worker.interrupt() == 0


def test_where_sessions_cannot_be_seen_a_killed_worker_is_found_by_its_lease(
    pooled: tuple[Cluster, Hub],
) -> None:
    _, hub = pooled
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    brief = {"LEASE": 6, "TRANSACTIONAL_TIMEOUT": 5, **SECONDS}
    worker = hub.ready(seconds=brief)
    first = hub.said("slow-1")
    other = hub.ready(seconds=brief)
    worker.kill_tree()
    second = hub.said_anew("slow", {first[2]})
    assert '"cause": "lease"' in other.said()
    hub.let_go(second[2])
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
