"""An interrupt hits the handler it is meant for, or nobody: never the settle, never the next job."""

import gc
import sys
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from threading import Event, Thread
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from hubqueue.errors import Interrupted, TimedOut
from hubqueue.lifecycle import owed
from hubqueue.lifecycle import run as running
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Failure, Job
from hubqueue.results import Result
from hubqueue.runner import latch as latch_module
from hubqueue.runner.deadlines import Deadlines
from hubqueue.runner.latch import Latch
from hubqueue.states import State
from tests.support.handlers import script, scripted
from tests.support.rows import attempt_of, claim_one
from tests.support.wait import until

TIMES = 2000
LIMIT = 0.002


@pytest.fixture(scope="module")
def deadlines() -> Deadlines:
    return Deadlines()


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns every 10 microseconds, so that an interrupt falls due close to its moment."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def spin(seconds: float) -> None:
    """Byte codes, where an interrupt can be delivered."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def around_the_limit(number: int) -> float:
    """From a fifth of a millisecond before the timeout to as much after it."""
    return LIMIT + (number % 41 - 20) / 100_000


@pytest.mark.alone  # ends and timeouts meet within microseconds
@pytest.mark.usefixtures("eager_threads")
def test_a_handler_that_ends_at_its_timeout_has_one_outcome_and_the_next_is_left_alone(
    deadlines: Deadlines,
) -> None:
    seen: Counter[str] = Counter()
    for number in range(TIMES):
        latch = Latch()
        deadlines.watch(latch, LIMIT)
        try:
            latch.call(partial(spin, around_the_limit(number)))
            seen["ended"] += 1
            assert not latch.fire(TimedOut)
        except TimedOut:
            seen["timed out"] += 1
        Latch().call(partial(spin, 0.0002))
        spin(0.0002)
    print(seen)
    assert seen.total() == TIMES
    assert min(seen.values()) > 0, "the sweep must cover both sides"


@pytest.mark.alone  # ends and timeouts meet within microseconds
@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("eager_threads")
@pytest.mark.django_db(transaction=True)
def test_an_attempt_that_ends_at_its_timeout_is_settled_once(deadlines: Deadlines) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE brink (number int PRIMARY KEY)")
    seen: Counter[str] = Counter()

    def brink(number: int, job: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO brink VALUES (%s)", [number])
        deadlines.watch(latches[number], LIMIT)
        spin(around_the_limit(number))

    latches = [Latch() for _ in range(TIMES)]
    for number in range(TIMES):
        with script(partial(brink, number)) as name:
            scripted.enqueue(script=name)
            outcome = running.run(attempt_of(claim_one(), call=latches[number].call))
        assert isinstance(outcome, Settled)
        row = Job.objects.get(pk=outcome.id)
        codes = list(Failure.objects.filter(job=row).values_list("code", "spent"))
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM brink WHERE number = %s", [number])
            took_effect = cursor.fetchone() is not None
        assert (row.state, row.attempts, took_effect, codes) in (
            (State.SUCCEEDED, 1, True, []),
            (State.READY, 1, False, [("timeout", True)]),
        )
        seen[row.state] += 1
        row.delete()
    print(seen)
    assert seen[State.READY] > 0
    assert seen[State.SUCCEEDED] > 0
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE brink")


class LateCanceller(Latch):
    """Its cancel is sent only when the test lets it: any time after the interrupt was set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = Event()

    def _cancel_statements(self, *given: Any) -> None:
        assert self.go.wait(30)
        super()._cancel_statements(*given)


@pytest.fixture
def row_lock(transactional_db: None) -> Iterator["RowLock"]:
    with RowLock() as lock:
        yield lock


class RowLock:
    """Another session that locks every job's row, so that a settle has to wait."""

    def __enter__(self) -> "RowLock":
        self.session = psycopg.connect(dsn())
        self.onlooker = psycopg.connect(dsn(), autocommit=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()
        self.onlooker.close()

    def take(self) -> None:
        self.session.execute("SELECT FROM hubqueue_job FOR UPDATE")

    def wait_for_settle(self) -> None:
        until(
            lambda: self.onlooker.execute(
                "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND datname = current_database() AND query LIKE '%hubqueue_settle%'"
            ).fetchall(),
            message="a settle that waits for the row",
        )

    def let_go(self) -> None:
        self.session.rollback()


def dsn() -> str:
    keywords = {"host", "port", "user", "password", "dbname"}
    given = connection.get_connection_params()
    return psycopg.conninfo.make_conninfo(
        **{key: value for key, value in given.items() if key in keywords}
    )


def test_a_cancel_that_comes_late_does_not_hit_the_settle(
    row_lock: RowLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "pay", partial(owed.pay, patience=timedelta(seconds=30)))
    latch = LateCanceller()
    answers: list[Any] = []
    running_now = Event()

    def loop(job: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        running_now.set()
        spin(60)

    with script(loop) as name:
        job_id = scripted.enqueue(script=name).id
        attempt = attempt_of(claim_one(), call=latch.call)

        def hand() -> None:
            try:
                answers.append(running.run(attempt))
            except BaseException as raised:
                answers.append(raised)
            connections.close_all()

        worker = Thread(target=hand)
        worker.start()
        assert running_now.wait(30)
        row_lock.take()
        firing = Thread(target=latch.fire, args=[TimedOut])
        firing.start()
        try:
            row_lock.wait_for_settle()
        finally:
            latch.go.set()
            firing.join(30)
            row_lock.let_go()
            worker.join(30)
    assert [type(each) for each in answers] == [Settled], answers
    row = Job.objects.get(pk=job_id)
    assert (row.state, row.attempts, row.error_code) == (State.READY, 1, "timeout")


class InterruptingConnections:
    """Fires while the latch is being set up."""

    def __init__(self, latch: Latch) -> None:
        self._latch = latch

    def __iter__(self) -> Iterator[str]:
        self._latch.fire(Interrupted)
        return iter(connections)

    def __getitem__(self, alias: str) -> Any:
        return connections[alias]


def test_an_interrupt_during_the_setup_of_the_latch_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    latch = Latch()
    monkeypatch.setattr(latch_module, "connections", InterruptingConnections(latch))
    called: list[int] = []
    with pytest.raises(Interrupted):
        latch.call(partial(called.append, 1))
    assert called == []


@pytest.mark.django_db(transaction=True)
def test_a_timeout_is_a_timeout_even_when_the_handler_broke_its_connection_before(
    deadlines: Deadlines,
) -> None:
    latch = Latch()

    def stubborn(job: Any) -> Result | None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        except Exception:
            assert connection.connection is not None
            connection.connection.close()
            deadlines.watch(latch, 0)
            spin(30)
        return None

    with script(stubborn) as name:
        job_id = scripted.enqueue(script=name).id
        outcome = running.run(attempt_of(claim_one(), call=latch.call))
    assert isinstance(outcome, Settled)
    assert Job.objects.get(pk=job_id).attempts == 1
    assert list(Failure.objects.values_list("code", "spent")) == [("timeout", True)]


def test_the_watch_keeps_nothing_of_handlers_that_have_ended() -> None:
    deadlines = Deadlines()
    remembered = []
    for _ in range(5000):
        latch = Latch()
        deadlines.watch(latch, 3600)
        latch.call(int)
        deadlines.forget(latch)
        remembered.append(weakref.ref(latch))
    del latch
    gc.collect()
    alive = sum(each() is not None for each in remembered)
    assert not alive, f"{alive} latches of handlers that ended are still kept"
