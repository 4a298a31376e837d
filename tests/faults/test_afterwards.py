"""The invariants see what they are for: each is violated by hand here."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest

from tests.faults import afterwards
from tests.faults.load import Load
from tests.support.hub import Hub

AT_ONCE = 0.1


@pytest.fixture
def hub(fresh_hub: Callable[[], Hub]) -> Iterator[Hub]:
    made = fresh_hub()
    yield made
    made.close()


@pytest.fixture
def load(hub: Hub) -> Load:
    """Not started: the rows come from the test."""
    return Load(hub)


def fail(hub: Hub, job: object, *, spent: bool) -> None:
    hub.rows(
        "INSERT INTO hubqueue_failure"
        ' (job_id, attempt, spent, code, exception, sqlstate, "constraint", frames, message, failed_at)'
        " VALUES (%s, 1, %s, 'broken', '', '', '', '[]', '', now())",
        [job, spent],
    )


def test_an_enqueue_that_was_lost_is_seen(hub: Hub, load: Load) -> None:
    afterwards.everything_ran(hub, load, within=AT_ONCE)
    hub.rows("INSERT INTO burden_wanted (name) VALUES ('lost')")
    with pytest.raises(AssertionError, match="every committed enqueue"):
        afterwards.everything_ran(hub, load, within=AT_ONCE)


def test_an_effect_that_nobody_wanted_is_seen(hub: Hub, load: Load) -> None:
    hub.rows("INSERT INTO burden_effect (name, fence) VALUES ('stray', 1)")
    with pytest.raises(AssertionError, match="rolled back"):
        afterwards.everything_ran(hub, load, within=AT_ONCE)


def test_jobs_that_are_stuck_or_given_up_are_seen(hub: Hub, load: Load) -> None:
    (job,) = hub.put("burden.plain", [{"name": "stuck"}])
    for change in ("state = 'READY'", f"state = 'RUNNING', claimed_by = '{uuid4()}'"):
        hub.rows(f"UPDATE hubqueue_job SET {change} WHERE id = %s", [job])
        with pytest.raises(AssertionError, match="every due job"):
            afterwards.nothing_is_stuck(hub, load, within=AT_ONCE)
    hub.rows("UPDATE hubqueue_job SET state = 'DEAD', claimed_by = NULL, finished_at = now()")
    with pytest.raises(AssertionError, match="DEAD"):
        afterwards.nothing_is_stuck(hub, load, within=AT_ONCE)


def test_failures_without_a_cause_and_attempts_that_were_spent_are_seen(
    hub: Hub, load: Load
) -> None:
    (job,) = hub.put("burden.plain", [{"name": "failed"}])
    fail(hub, job, spent=True)
    with pytest.raises(AssertionError, match="without a cause"):
        afterwards.failures_are_explained(hub, load, explained={"broken"}, spent=())
    fail(hub, job, spent=False)
    with pytest.raises(AssertionError, match="without a cause"):
        afterwards.failures_are_explained(hub, load, explained=(), spent={"broken"})
    hub.rows("UPDATE hubqueue_job SET attempts = 3")
    with pytest.raises(AssertionError, match="spent without a failure"):
        afterwards.failures_are_explained(hub, load, explained=(), spent=())


def test_sessions_and_leases_of_the_dead_are_seen(hub: Hub) -> None:
    worker = uuid4()
    with psycopg.connect(hub.url, application_name=f"hubqueue-{worker}"):
        with pytest.raises(AssertionError, match="sessions of the dead"):
            afterwards.nobody_else_is_connected(hub, [], within=AT_ONCE)
    hub.rows(
        "INSERT INTO hubqueue_worker"
        " (id, host, pid, queues, kinds, solo, sessions_visible, started_at, lease_until)"
        " VALUES (%s, '', 1, '[]', '[]', false, true, now(), now() + interval '1 min')",
        [worker],
    )
    with pytest.raises(AssertionError, match="leases of workers that are gone"):
        afterwards.processes_live(hub, [], within=AT_ONCE)
    with pytest.raises(AssertionError, match="a tick"):
        afterwards.somebody_leads(hub, within=AT_ONCE)
