"""Enqueue against somebody who is doing the same: never no job, never two, never a broken transaction."""

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection, transaction

from hubqueue.api import Enqueued, Outcome
from hubqueue.lifecycle.enqueue import Request, enqueue_many
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import settle, succeed
from hubqueue.models import Job
from hubqueue.states import State
from tests.support.handlers import scripted
from tests.support.rival import Rival
from tests.support.rows import attempt_of, claim_all, claim_one, run_one

pytestmark = pytest.mark.django_db(transaction=True)


def put(key: str = "k") -> Enqueued:
    return scripted.using(dedupe_key=key).enqueue()


def test_a_rivals_uncommitted_job_is_waited_for_and_collapsed_into() -> None:
    with Rival() as one, Rival() as two:
        one.begin()
        first = one.do(put)
        second = two.start(put)
        two.until_blocked()
        one.commit()
        assert second.result(30) == Enqueued(first.id, Outcome.COLLAPSED, same_payload=True)
    assert Job.objects.count() == 1


def test_a_rival_that_rolls_back_leaves_the_key_to_us() -> None:
    with Rival() as one, Rival() as two:
        one.begin()
        first = one.do(put)
        second = two.start(put)
        two.until_blocked()
        one.rollback()
        assert second.result(30).outcome == Outcome.NEW
        assert second.result().id != first.id
    assert Job.objects.count() == 1


def test_a_rival_that_dies_leaves_the_key_to_us() -> None:
    with Rival() as one, Rival() as two:
        one.begin()
        one.do(put)
        second = two.start(put)
        two.until_blocked()
        one.die()
        assert second.result(30).outcome == Outcome.NEW
        with pytest.raises(OperationalError):
            one.commit()
    assert Job.objects.count() == 1


def test_a_job_that_finishes_while_we_wait_leaves_the_key_to_us() -> None:
    first = put()
    claimed = claim_one()
    with Rival() as one, Rival() as two:
        one.begin()
        one.do(lambda: Job.objects.select_for_update().get(pk=first.id))
        second = two.start(put)
        two.until_blocked()
        one.do(lambda: _finish(claimed))
        one.commit()
        assert second.result(30).outcome == Outcome.NEW
    assert sorted(Job.objects.values_list("state", flat=True)) == [State.READY, State.SUCCEEDED]


def test_a_duplicate_leaves_the_callers_transaction_usable() -> None:
    with transaction.atomic():
        Group.objects.create(name="before")
        assert put().outcome == Outcome.NEW
        assert put().outcome == Outcome.COLLAPSED
        Group.objects.create(name="after")
        assert Group.objects.count() == 2
    assert Group.objects.count() == 2
    assert Job.objects.count() == 1


def test_a_duplicate_of_an_uncommitted_rival_leaves_the_callers_transaction_usable() -> None:
    def save_and_put() -> Outcome:
        with transaction.atomic():
            Group.objects.create(name="mine")
            answer = put()
            assert Group.objects.filter(name="mine").exists()
        return answer.outcome

    for end, outcome in (("commit", Outcome.COLLAPSED), ("rollback", Outcome.NEW)):
        Job.objects.all().delete()
        Group.objects.all().delete()
        with Rival() as one, Rival() as two:
            one.begin()
            one.do(put)
            ours = two.start(save_and_put)
            two.until_blocked()
            getattr(one, end)()
            assert ours.result(30) == outcome
        assert (Job.objects.count(), Group.objects.count()) == (1, 1)


def test_a_rolled_back_transaction_leaves_no_job() -> None:
    with transaction.atomic():
        put()
        transaction.set_rollback(True)
    assert not Job.objects.exists()


def test_equal_keys_in_opposite_order_do_not_deadlock() -> None:
    keys = [f"k{n}" for n in range(500)]

    def put_all(order: list[str]) -> list[Enqueued]:
        return scripted.enqueue_many([scripted.using(dedupe_key=key).item() for key in order])

    with Rival() as one, Rival() as two, Rival() as gate:
        for _ in range(3):
            Job.objects.all().delete()
            # Both wait at one row in the middle of the order, then go on against each other.
            gate.begin()
            gate.do(lambda: put("k250"))
            forth = one.start(lambda: put_all(keys))
            one.until_blocked()
            back = two.start(lambda: put_all(keys[::-1]))
            two.until_blocked()
            gate.commit()
            assert len(forth.result(30)) == len(back.result(30)) == 500
            assert [each.id for each in back.result()][::-1] == [each.id for each in forth.result()]
            assert Job.objects.count() == 500


def test_a_bulk_call_and_a_claim_of_the_same_keys_do_not_deadlock() -> None:
    keys = [f"k{n}" for n in range(50)]
    for key in keys:
        put(key)
    with Rival() as one, Rival() as two:
        forth = one.start(
            lambda: [
                scripted.enqueue_many([scripted.using(dedupe_key=key).item() for key in keys])
                for _ in range(10)
            ]
        )
        back = two.start(lambda: [run_one_if_any() for _ in range(60)])
        assert len(forth.result(60)) == 10
        back.result(60)
    assert Job.objects.unfinished().count() <= 50


def run_one_if_any() -> None:
    for claimed in claim_all(1):
        run(attempt_of(claimed))


def test_a_long_queue_and_kind_and_multi_byte_payload_ring_without_failing() -> None:
    long = Request(
        kind="k" * 100,
        queue="q" * 48,
        payload=f'{{"x": "{"🐝" * 9000}"}}',
        max_attempts=1,
    )
    assert len(enqueue_many([long] * 10)) == 10


def test_ten_thousand_keyed_requests_are_one_quick_statement() -> None:
    items = [scripted.using(dedupe_key=f"k{n}").item() for n in range(10_000)]
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '8s'")
        assert len(scripted.enqueue_many(items)) == 10_000
        transaction.set_rollback(True)


def _finish(claimed: Claimed) -> None:
    settle(claimed, succeed(), using="default")


def test_a_run_job_frees_its_key() -> None:
    put()
    run_one()
    assert put().outcome == Outcome.NEW
