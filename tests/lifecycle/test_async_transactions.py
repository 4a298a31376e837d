"""``job.atransaction()``: a transaction over awaits, on one connection, that counts only under the fence."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction

from hubqueue.api import Done, JobContext, Result
from hubqueue.models import Failure, Job
from hubqueue.states import State
from hubqueue.testing import steal_lease
from tests.support.evloop import Afloat, Gate, event_loop
from tests.support.handlers import scripted, scripted_async
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

DESKS = 4


@pytest.fixture
def afloat() -> Iterator[Afloat]:
    with event_loop() as made:
        yield made


def names() -> set[str]:
    return set(Group.objects.values_list("name", flat=True))


@sync_to_async
def session() -> int:
    """The server's process behind the connection of this call."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


@sync_to_async
def doze() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(600) /* doze */")


def dozing() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%/* doze */'"
            " AND pid <> pg_backend_pid() AND datname = current_database()"
        )
        (count,) = cursor.fetchone()
    return bool(count)


def code_of(job_id: object) -> tuple[bool, str]:
    failure = Failure.objects.get(job=job_id)
    return failure.spent, failure.code


def test_transactions_of_attempts_that_run_at_once_do_not_mix(afloat: Afloat) -> None:
    half, other = Gate(), Gate()

    async def keeps(job: JobContext) -> Result:
        async with job.atransaction():
            await Group.objects.acreate(name="kept 1")
            first = await session()
            half.open()
            await other.wait()
            await Group.objects.acreate(name="kept 2")
            return Done([first, await session()])

    async def breaks(job: JobContext) -> Result:
        await half.wait()
        with suppress(ArithmeticError):
            async with job.atransaction():
                await Group.objects.acreate(name="broken")
                own = await session()
                raise ArithmeticError
        other.open()
        return Done([own])

    one, two = afloat.start(keeps, breaks)
    assert {one.settled().state, two.settled().state} == {State.SUCCEEDED}
    assert names() == {"kept 1", "kept 2"}
    first, again = Job.objects.get(pk=one.id).result
    (own,) = Job.objects.get(pk=two.id).result
    assert first == again != own


def test_a_superseded_attempt_writes_nothing_and_is_told_so(afloat: Afloat) -> None:
    async def zombie(job: JobContext) -> None:
        await sync_to_async(steal_lease)(job)
        async with job.atransaction():
            await Group.objects.acreate(name="of a zombie")

    (trip,) = afloat.start(zombie)
    assert trip.ended.wait(60)
    assert trip.outcome is None
    assert names() == set()
    assert Job.objects.get(pk=trip.id).state == State.RUNNING


def test_nobody_takes_the_job_while_its_transaction_is_open(afloat: Afloat) -> None:
    entered, go_on = Gate(), Gate()

    async def holds(job: JobContext) -> None:
        async with job.atransaction():
            entered.open()
            await go_on.wait()

    (trip,) = afloat.start(holds)
    until(lambda: entered.is_open)
    with transaction.atomic():
        assert not Job.objects.select_for_update(skip_locked=True).filter(pk=trip.id).exists()
    go_on.open()
    assert trip.settled().state == State.SUCCEEDED


def test_a_transaction_inside_another_is_a_savepoint(afloat: Afloat) -> None:
    async def nests(job: JobContext) -> None:
        async with job.atransaction():
            await Group.objects.acreate(name="outer")
            with suppress(IntegrityError):
                async with job.atransaction():
                    await Group.objects.acreate(name="inner")
                    await Group.objects.acreate(name="outer")
            await Group.objects.acreate(name="after")

    assert afloat.run(nests).state == State.SUCCEEDED
    assert names() == {"outer", "after"}


def test_what_a_block_enqueues_and_its_hooks_share_its_end(afloat: Afloat) -> None:
    told: list[str] = []

    async def enqueues(job: JobContext) -> None:
        for name, wrong in (("kept", False), ("gone", True)):
            with suppress(ArithmeticError):
                async with job.atransaction():
                    await sync_to_async(scripted.using(dedupe_key=name).enqueue)()
                    hook = lambda name=name: told.append(name)  # noqa: E731
                    await sync_to_async(transaction.on_commit)(hook)
                    if wrong:
                        raise ArithmeticError

    assert afloat.run(enqueues).state == State.SUCCEEDED
    assert told == ["kept"]
    assert list(Job.objects.filter(kind=scripted.kind).values_list("dedupe_key", flat=True)) == [
        "kept"
    ]


def test_cancelled_inside_its_block_an_attempt_leaves_nothing_and_a_clean_connection(
    afloat: Afloat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_async, "_timeout", timedelta(seconds=0.3))

    async def hangs(job: JobContext) -> None:
        async with job.atransaction():
            await Group.objects.acreate(name="uncommitted")
            await doze()

    trips = afloat.start(*[hangs] * (DESKS + 2))
    for trip in trips:
        trip.settled()
        assert code_of(trip.id) == (True, "timeout")
    assert not dozing()
    monkeypatch.undo()

    async def works(job: JobContext) -> None:
        await Group.objects.acreate(name=f"next {job.id}")
        assert not await sync_to_async(lambda: connection.in_atomic_block)()

    for trip in afloat.start(*[works] * DESKS * 2):
        assert trip.settled().state == State.SUCCEEDED
    assert len(names()) == DESKS * 2


def test_a_block_that_goes_on_after_an_interrupted_call_keeps_nothing(afloat: Afloat) -> None:
    async def goes_on(job: JobContext) -> Result:
        seen = []
        try:
            async with job.atransaction():
                await Group.objects.acreate(name="before")
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await doze()
                try:
                    await Group.objects.acreate(name="after")
                except transaction.TransactionManagementError:
                    seen.append("refused")
        except transaction.TransactionManagementError:
            seen.append("rolled back")
        return Done(seen)

    settled = afloat.run(goes_on)
    assert Job.objects.get(pk=settled.id).result == ["refused", "rolled back"]
    assert names() == set()


def test_cancelled_while_it_waits_for_its_row_an_attempt_opens_nothing(afloat: Afloat) -> None:
    ready, locked, gave_up = Gate(), Gate(), Gate()

    async def waits(job: JobContext) -> Result:
        ready.open()
        await locked.wait()
        try:
            async with asyncio.timeout(0.2), job.atransaction():
                return Done("entered")
        except TimeoutError:
            gave_up.open()
            return Done("waited")

    (trip,) = afloat.start(waits)
    until(lambda: ready.is_open)
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=trip.id)
        locked.open()
        until(lambda: gave_up.is_open)
    assert Job.objects.get(pk=trip.settled().id).result == "waited"


def test_a_task_that_outlives_its_attempt_keeps_no_transaction_and_writes_nothing(
    afloat: Afloat,
) -> None:
    left: list[asyncio.Task[None]] = []
    go_on = Gate()

    async def stray(job: JobContext, entered: asyncio.Event) -> None:
        async with job.atransaction():
            await Group.objects.acreate(name="of a stray")
            entered.set()
            await go_on.wait()
            await Group.objects.acreate(name="later")

    async def leaves(job: JobContext) -> None:
        entered = asyncio.Event()
        left.append(asyncio.create_task(stray(job, entered)))
        await entered.wait()

    (trip,) = afloat.start(leaves)
    trip.settled()
    assert code_of(trip.id) == (True, "transaction_left_open")
    go_on.open()
    (task,) = left
    until(task.done)
    assert isinstance(task.exception(), RuntimeError)
    assert names() == set()


def test_transactions_leave_a_connection_for_calls_by_themselves(afloat: Afloat) -> None:
    """Else transactions that wait for such a call, of another task of theirs or another attempt, wait for ever."""
    done, inside = Gate(), []

    async def holds(job: JobContext) -> None:
        async with job.atransaction():
            inside.append(job.id)
            await done.wait()

    async def calls(job: JobContext) -> None:
        while len(inside) < DESKS - 1:
            await asyncio.sleep(0.01)
        await Group.objects.acreate(name="got through")
        done.open()

    for trip in afloat.start(*[holds] * DESKS * 3, calls):
        assert trip.settled().state == State.SUCCEEDED
    assert names() == {"got through"}
