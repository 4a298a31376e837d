"""The gauges: what they show, that reading them is bounded, and that a scrape survives the database."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
from prometheus_client.parser import text_string_to_metric_families

from hubqueue import gauges, officers
from hubqueue.aside import Aside, Unreachable, own_connection
from hubqueue.models import Duty, Job, Leader, Worker
from hubqueue.querysets import database_now
from hubqueue.states import FINISHED, State
from tests.support import handlers
from tests.support.postgres import Cluster
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

KIND = handlers.typed.kind


def scrape() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    gauges.current.forget()
    text = gauges.exposition()[0].decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def depth(samples: dict[Any, float], state: str, kind: str = KIND) -> float:
    return samples["hubqueue_depth", (("kind", kind), ("state", state))]


def rows(state: State, number: int = 1, **values: Any) -> None:
    now = database_now("default")
    defaults: dict[str, Any] = {
        "kind": KIND,
        "queue": "default",
        "max_attempts": 3,
        "run_at": now,
        "created_at": now,
        "state": state,
        "finished_at": now if state in FINISHED else None,
        "claimed_by": uuid4() if state == State.RUNNING else None,
    }
    Job.objects.bulk_create([Job(**(defaults | values)) for _ in range(number)])


def test_depths_are_per_kind_and_state() -> None:
    later = database_now("default") + timedelta(hours=1)
    rows(State.READY, 2)
    rows(State.READY, 1, suspect=True)
    rows(State.READY, 4, priority=7, queue="mail")
    rows(State.READY, 5, run_at=later)
    rows(State.RUNNING, 3)
    rows(State.PARKED, 2)
    rows(State.DEAD, 1)
    rows(State.SUCCEEDED, 9)
    samples = scrape()
    assert [depth(samples, state) for state in gauges.STATES] == [7, 5, 3, 2, 1]
    assert samples["hubqueue_queue_due", (("queue", "mail"),)] == 4


def test_a_known_kind_with_nothing_waiting_is_zero_and_unknown_ones_are_together() -> None:
    rows(State.READY, 2, kind="gone.one")
    rows(State.DEAD, 3, kind="gone.two")
    samples = scrape()
    assert [depth(samples, state) for state in gauges.STATES] == [0, 0, 0, 0, 0]
    assert depth(samples, "due", "(unknown)") == 2
    assert depth(samples, "dead", "(unknown)") == 3
    assert not [key for key in samples if "gone." in str(key)]


def test_ages_workers_leader_and_duties_are_shown() -> None:
    now = database_now("default")
    rows(State.READY, run_at=now - timedelta(minutes=2), priority=5)
    rows(State.READY, run_at=now - timedelta(minutes=1))
    for lease in (60, -60):
        Worker.objects.create(
            id=uuid4(), host="h", pid=1, started_at=now, lease_until=now + timedelta(seconds=lease)
        )
    Leader.objects.create(host="h", pid=1, since=now, ticked_at=now - timedelta(seconds=30))
    Duty.objects.create(name="purge", ran_at=now, succeeded_at=now - timedelta(hours=3))
    officers.pause("queue", "mail", actor="a", reason="r")
    samples = scrape()
    oldest = samples["hubqueue_oldest_due_age_seconds", (("queue", "default"),)]
    assert 120 <= oldest < 150
    assert samples["hubqueue_oldest_due_age_seconds", (("queue", "mail"),)] == 0
    assert samples["hubqueue_workers_alive", ()] == 1
    assert samples["hubqueue_pauses", ()] == 1
    assert 30 <= samples["hubqueue_leader_tick_age_seconds", ()] < 60
    assert samples["hubqueue_duty_success_age_seconds", (("duty", "purge"),)] >= 3 * 3600


def test_counting_stops_at_its_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauges, "CAP", 10)
    rows(State.READY, 30)
    rows(State.READY, 4, queue="mail")
    rows(State.DEAD, 30)
    samples = scrape()
    assert samples["hubqueue_depth_capped", (("queue", "default"),)] == 1
    assert samples["hubqueue_depth_capped", (("queue", "mail"),)] == 0
    assert depth(samples, "due") == 11 + 4
    assert depth(samples, "dead") == 10


@pytest.mark.parametrize(
    ("begin", "statement"),
    [
        ("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1"),
        ("BEGIN", "INSERT INTO auth_group (name) VALUES ('of somebody who idles')"),
    ],
)
def test_the_age_of_what_vacuum_waits_for_is_shown(begin: str, statement: str) -> None:
    other = own_connection("default", "holder")
    try:
        with other.cursor() as cursor:
            cursor.execute(begin)
            cursor.execute(statement)
        until(lambda: scrape()["hubqueue_oldest_snapshot_age_seconds", ()] > 0.2)
    finally:
        other.close()


@pytest.mark.slow
def test_a_prepared_transaction_that_nobody_ends_is_shown() -> None:
    with Cluster(settings={"max_prepared_transactions": "1"}) as postgres:
        with psycopg.connect(postgres.url(), autocommit=True) as session:
            session.execute("BEGIN")
            session.execute("CREATE TABLE anything ()")
            session.execute("PREPARE TRANSACTION 'forgotten'")
        until(lambda: postgres.execute(gauges.SNAPSHOT_SQL) > [(0.2,)], message="its age")


def test_many_scrapes_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(cursor: Any) -> gauges.Picture:
        read.append(1)
        return gauges.take(cursor)

    monkeypatch.setattr(
        gauges, "current", Aside(counted, patience=gauges.PATIENCE, keep=gauges.KEEP)
    )
    threads = [threading.Thread(target=gauges.exposition) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gauges.exposition()
    assert len(read) == 1


def test_the_picture_is_read_in_few_statements_each_with_a_bound() -> None:
    asked = []

    def watch(execute: Any, sql: str, *rest: Any) -> Any:
        asked.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(watch), connection.cursor() as cursor:
        gauges.take(cursor)
    assert len(asked) == 5
    for sql in asked:
        assert "hubqueue_job" not in sql or "LIMIT" in sql or "reltuples" in sql


@contextmanager
def database_gone(monkeypatch: pytest.MonkeyPatch, host: str, port: int) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr("hubqueue.aside.connections", _Elsewhere(host, port))
        yield


class _Elsewhere:
    """Connections to a server that is not there."""

    def __init__(self, host: str, port: int) -> None:
        self._settings = {**connection.settings_dict, "HOST": host, "PORT": str(port)}

    def __getitem__(self, alias: str) -> DatabaseWrapper:
        return DatabaseWrapper({**self._settings}, alias)


def test_without_a_database_the_scrape_answers_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with database_gone(monkeypatch, "127.0.0.1", 1):
        started = time.monotonic()
        samples = scrape()
    assert not [name for name, _ in samples if name.startswith("hubqueue_depth")]
    assert samples["hubqueue_database_up", ()] == 0
    assert time.monotonic() - started < 2
    until(lambda: scrape()["hubqueue_database_up", ()] == 1)


@pytest.mark.alone  # one second of patience, and two in all
def test_a_database_that_stays_silent_delays_no_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        database_gone(monkeypatch, "127.0.0.1", silent.getsockname()[1]),
    ):
        for _ in range(2):
            started = time.monotonic()
            assert scrape()["hubqueue_database_up", ()] == 0
            assert time.monotonic() - started < 2


def test_a_statement_that_takes_too_long_is_ended_by_the_server() -> None:
    def slow(cursor: Any) -> None:
        cursor.execute("SELECT pg_sleep(30)")

    aside = Aside(slow, patience=timedelta(seconds=0.3), keep=timedelta(seconds=1))
    with pytest.raises(Unreachable) as refused:
        aside.answer()
    until(lambda: not _sleeping(), message="the end of the statement")
    assert "pg_sleep" not in str(refused.value)


def _sleeping() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE state = 'active' AND query = 'SELECT pg_sleep(30)'"
        )
        return bool(cursor.fetchone()[0])


def test_reading_aside_cannot_write() -> None:
    def write(cursor: Any) -> None:
        cursor.execute("DELETE FROM hubqueue_job")

    rows(State.READY)
    with pytest.raises(Unreachable) as refused:
        Aside(write, patience=timedelta(seconds=1), keep=timedelta(seconds=1)).answer()
    cause = refused.value.__cause__
    assert cause is not None
    assert isinstance(cause.__cause__, psycopg.errors.ReadOnlySqlTransaction)
    assert Job.objects.count() == 1
