"""Enqueuing from async code: by itself it is committed at once, inside a transaction it is part of it."""

import asyncio
from collections.abc import Iterator

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient
from django.urls import path

from hubqueue.api import JobContext, Outcome, PayloadRefused
from hubqueue.models import Job
from hubqueue.states import State
from tests.support.evloop import Afloat, event_loop
from tests.support.handlers import mailed, scripted
from tests.support.rival import Rival

pytestmark = pytest.mark.django_db(transaction=True)


async def by_itself(request: HttpRequest) -> HttpResponse:
    await Group.objects.acreate(name="before")
    await scripted.aenqueue()
    raise ZeroDivisionError


def register() -> None:
    """What an application writes: one plain function, one transaction."""
    with transaction.atomic():
        Group.objects.create(name="half")
        scripted.enqueue()
        raise ZeroDivisionError


async def in_one_function(request: HttpRequest) -> HttpResponse:
    await sync_to_async(register)()
    return HttpResponse()


urlpatterns = [path("by-itself/", by_itself), path("one/", in_one_function)]


@pytest.fixture
def afloat() -> Iterator[Afloat]:
    with event_loop() as made:
        yield made


def seen_by_others() -> int:
    with Rival() as rival:
        return rival.do(lambda: Job.objects.filter(kind=scripted.kind).count())


@pytest.mark.urls(__name__)
def test_what_an_async_view_enqueues_stays_whatever_becomes_of_the_view() -> None:
    client = AsyncClient(raise_request_exception=False)
    answer = async_to_sync(client.get)("/by-itself/")
    assert answer.status_code == 500
    assert seen_by_others() == 1


@pytest.mark.urls(__name__)
def test_what_one_plain_function_does_in_a_transaction_is_all_or_nothing() -> None:
    client = AsyncClient(raise_request_exception=False)
    assert async_to_sync(client.get)("/one/").status_code == 500
    assert seen_by_others() == 0
    assert not Group.objects.exists()


def test_options_refusals_and_many_are_those_of_enqueue() -> None:
    async def ask() -> None:
        first = await scripted.using(dedupe_key="k", tenant="t1").aenqueue()
        again = await scripted.using(dedupe_key="k").aenqueue()
        assert (first.outcome, again.outcome) == (Outcome.NEW, Outcome.COLLAPSED)
        items = [mailed.item(to="a"), mailed.using(priority=3).item(to="b")]
        assert len(await mailed.aenqueue_many(items)) == 2
        with pytest.raises(PayloadRefused, match="script"):
            await scripted.aenqueue(script="a NUL: \x00")

    async_to_sync(ask)()
    rows = Job.objects.order_by("id").values_list("kind", "tenant_id", "priority")
    assert list(rows) == [
        (scripted.kind, "t1", 0),
        (mailed.kind, None, 0),
        (mailed.kind, None, 3),
    ]


def test_many_at_once_are_all_there() -> None:
    async def ask() -> None:
        await asyncio.gather(*[scripted.aenqueue() for _ in range(20)])

    async_to_sync(ask)()
    assert seen_by_others() == 20


@pytest.mark.parametrize("fails", [False, True])
def test_inside_atransaction_it_commits_with_the_block(afloat: Afloat, fails: bool) -> None:
    async def work(job: JobContext) -> None:
        try:
            async with job.atransaction():
                await scripted.aenqueue()
                assert await sync_to_async(seen_by_others, thread_sensitive=False)() == 0
                if fails:
                    raise LookupError
        except LookupError:
            pass

    assert afloat.run(work).state == State.SUCCEEDED
    assert seen_by_others() == (0 if fails else 1)
