"""An attempt of an ``async def`` handler: what ends it and how, and which connections it uses meanwhile."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction

from hubqueue import officers
from hubqueue.api import Done, JobContext, Result, StopRequested, handler
from hubqueue.models import Failure, Job
from hubqueue.states import State
from tests.support.cut import cut
from tests.support.evloop import Afloat, AsyncScript, Gate, event_loop
from tests.support.handlers import scripted_async
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

DESKS = 4


@pytest.fixture
def afloat() -> Iterator[Afloat]:
    with event_loop() as made:
        yield made


def history(job_id: object) -> list[tuple[bool, str, str]]:
    rows = Failure.objects.filter(job=job_id).order_by("id")
    return [(row.spent, row.code, row.exception.rpartition(".")[2]) for row in rows]


def sleep_on_the_server() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(600) /* asleep */")


def asleep() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%/* asleep */'"
            " AND pid <> pg_backend_pid() AND datname = current_database()"
        )
        (count,) = cursor.fetchone()
    return bool(count)


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


def test_many_attempts_wait_at_once_and_share_few_connections(afloat: Afloat) -> None:
    everybody = Gate()
    waiting: set[object] = set()
    sessions: set[int] = set()

    async def waits(job: JobContext) -> Result:
        sessions.add(await sync_to_async(backend)())
        waiting.add(job.id)
        if len(waiting) == 50:
            everybody.open()
        await everybody.wait()
        async with job.atransaction():
            sessions.add(await sync_to_async(backend)())
        return Done(record=lambda: sessions.add(backend()))

    trips = afloat.start(*[waits] * 50)
    assert {trip.settled().state for trip in trips} == {State.SUCCEEDED}
    assert len(sessions) <= DESKS


async def cancels_itself(job: JobContext) -> None:
    raise asyncio.CancelledError


async def exits(job: JobContext) -> None:
    raise SystemExit(3)


async def exits_in_a_task(job: JobContext) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    await asyncio.create_task(leave())


async def answers_nonsense(job: JobContext) -> Result:
    return "done"  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("script", "exception"),
    [
        (cancels_itself, "CancelledError"),
        (exits, "SystemExit"),
        (exits_in_a_task, "SystemExit"),
        (answers_nonsense, "UnknownAnswer"),
    ],
)
def test_whatever_a_handler_raises_is_a_failed_attempt_and_the_loop_turns_on(
    afloat: Afloat, script: AsyncScript, exception: str
) -> None:
    settled = afloat.run(script)
    assert settled.state == State.DEAD
    ((spent, _, raised),) = history(settled.id)
    assert (spent, raised) == (True, exception)

    async def works(job: JobContext) -> None:
        await asyncio.sleep(0)

    assert afloat.run(works).state == State.SUCCEEDED


def test_a_stop_request_cancels_at_the_next_await_and_its_statement_with_it(
    afloat: Afloat,
) -> None:
    seen: list[str] = []

    async def long(job: JobContext) -> None:
        try:
            await sync_to_async(sleep_on_the_server)()
        finally:
            seen.append("cancelled" if job.cancelled else "?")

    (trip,) = afloat.start(long)
    until(asleep)
    officers.cancel(trip.id, actor="test", reason="not wanted")
    afloat.stop(trip)
    assert trip.settled().state == State.CANCELLED
    assert seen == ["cancelled"]
    assert not asleep()
    assert history(trip.id) == [(False, "stop_requested", "")]


def test_a_handler_that_hears_of_a_stop_and_finishes_has_finished(afloat: Afloat) -> None:
    began = Gate()

    async def finishes(job: JobContext) -> Result:
        began.open()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with pytest.raises(StopRequested):
                job.checkpoint()
        return Done("in time")

    (trip,) = afloat.start(finishes)
    until(lambda: began.is_open)
    officers.cancel(trip.id, actor="test", reason="not wanted")
    afloat.stop(trip)
    assert trip.settled().state == State.SUCCEEDED
    assert Job.objects.get(pk=trip.id).result == "in time"


def test_an_interrupt_stands_whatever_the_handler_makes_of_it(afloat: Afloat) -> None:
    began = Gate()

    async def swallows(job: JobContext) -> Result:
        began.open()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Done("never mind")
        return Done()

    (trip,) = afloat.start(swallows)
    until(lambda: began.is_open)
    afloat.evloop.interrupt_all()
    assert (trip.settled().state, trip.settled().attempts) == (State.READY, 0)
    assert history(trip.id) == [(False, "interrupted", "")]


def test_a_timeout_cancels_and_leaves_time_to_clean_up(
    afloat: Afloat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_async, "_timeout", timedelta(seconds=0.2))

    async def hangs(job: JobContext) -> None:
        try:
            await sync_to_async(sleep_on_the_server)()
        finally:
            await Group.objects.acreate(name="cleaned up")

    settled = afloat.run(hangs)
    assert history(settled.id) == [(True, "timeout", "TimedOut")]
    (failure,) = Failure.objects.filter(job=settled.id)
    assert "hangs" in {frame["function"] for frame in failure.frames}
    assert Group.objects.filter(name="cleaned up").exists()
    assert not asleep()


def test_a_wait_that_the_handler_gives_up_itself_ends_its_statement_too(afloat: Afloat) -> None:
    async def patient(job: JobContext) -> Result:
        try:
            async with asyncio.timeout(0.1):
                await sync_to_async(sleep_on_the_server)()
        except TimeoutError:
            return Done("gave up")
        return Done()

    settled = afloat.run(patient)
    assert Job.objects.get(pk=settled.id).result == "gave up"
    assert not asleep()


@pytest.mark.parametrize("inside", [False, True], ids=["by itself", "in a transaction"])
def test_a_lost_connection_is_not_the_attempts_fault(afloat: Afloat, inside: bool) -> None:
    async def loses(job: JobContext) -> None:
        if inside:
            async with job.atransaction():
                await Group.objects.acreate(name="lost")
                await sync_to_async(cut)()
                await Group.objects.acreate(name="lost too")
        else:
            await sync_to_async(cut_and_go_on)()

    settled = afloat.run(loses)
    assert (settled.state, settled.attempts) == (State.READY, 0)
    assert history(settled.id) == [(False, "connection_lost", "OperationalError")]
    assert not Group.objects.exists()


def cut_and_go_on() -> None:
    cut()
    backend()


def enter_and_stay() -> None:
    transaction.atomic().__enter__()


def test_a_call_that_leaves_a_transaction_open_fails_and_harms_nobody_else(
    afloat: Afloat,
) -> None:
    async def sloppy(job: JobContext) -> None:
        await sync_to_async(enter_and_stay)()

    settled = afloat.run(sloppy)
    assert history(settled.id) == [(True, "transaction_left_open", "TransactionLeftOpen")]

    async def works(job: JobContext) -> None:
        await Group.objects.acreate(name=str(job.id))

    for trip in afloat.start(*[works] * DESKS * 2):
        assert trip.settled().state == State.SUCCEEDED
    assert Group.objects.count() == DESKS * 2


@pytest.mark.parametrize("inside", [False, True], ids=["by itself", "in a transaction"])
def test_rows_that_are_read_in_parts_are_whole_while_others_use_the_connections(
    afloat: Afloat, inside: bool
) -> None:
    Group.objects.bulk_create(Group(name=f"{number:04}") for number in range(500))

    async def read() -> list[str]:
        rows = Group.objects.order_by("name").aiterator(chunk_size=50)
        return [each.name async for each in rows]

    async def reads(job: JobContext) -> Result:
        if not inside:
            return Done(len(await read()))
        async with job.atransaction():
            return Done(len(await read()))

    for trip in afloat.start(*[reads] * 10):
        assert Job.objects.get(pk=trip.settled().id).result == 500


def test_blocking_code_aside_leaves_no_connection_behind(afloat: Afloat) -> None:
    left: list[bool] = []

    def look() -> None:
        left.append(connection.connection is not None)
        backend()

    async def aside(job: JobContext) -> None:
        for _ in range(5):
            await asyncio.to_thread(look)

    assert afloat.run(aside).state == State.SUCCEEDED
    assert left == [False] * 5


def test_a_child_without_async_jobs_has_no_threads_for_them(afloat: Afloat) -> None:
    assert not [each for each in threading.enumerate() if each.name == "event loop"]
    assert afloat.evloop.blocked() == (0.0, None)


def test_who_keeps_the_loop_from_turning_is_known(afloat: Afloat) -> None:
    release = threading.Event()

    async def blocks(job: JobContext) -> None:
        await asyncio.create_task(holds_the_loop())

    async def holds_the_loop() -> None:
        release.wait(60)

    async def waits(job: JobContext) -> None:
        await asyncio.sleep(0.01)

    one, two = afloat.start(blocks, waits)
    until(lambda: afloat.evloop.blocked()[1] is not None)
    assert afloat.evloop.blocked()[1] == one.running.claimed.attempt
    release.set()
    assert {one.settled().state, two.settled().state} == {State.SUCCEEDED}
    until(lambda: afloat.evloop.blocked() == (0.0, None))


def test_only_detached_handlers_may_be_async() -> None:
    with pytest.raises(ImproperlyConfigured, match="must be detached=True"):

        @handler("sample.refused")
        async def refused(job: JobContext) -> None: ...

    with pytest.raises(ImproperlyConfigured, match="group is 1 to 1000 and for transactional"):

        @handler("sample.refused", detached=True, group=5)
        async def grouped(job: JobContext) -> None: ...


def test_what_runs_inside_the_settle_is_a_plain_function() -> None:
    async def record() -> None: ...

    async def hook(job: JobContext) -> None: ...

    with pytest.raises(TypeError, match="record=.* plain function, got an async def"):
        Done(record=record)
    with pytest.raises(ImproperlyConfigured, match="on_abandon takes a plain function"):
        scripted_async.on_abandon(hook)
