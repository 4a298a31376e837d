"""Whoever asks for the same rows in another order: no caller fails, and no attempt is spent for it."""

from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction

from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import Settled, settle_within, succeed
from hubqueue.models import Failure, Job
from hubqueue.states import State
from tests.support.handlers import scripted
from tests.support.rival import LONG, Rival
from tests.support.rows import attempt_of, claim_all

pytestmark = pytest.mark.django_db(transaction=True)


def put_all(keys: list[str]) -> list[Any]:
    return scripted.enqueue_many([scripted.using(dedupe_key=key).item() for key in keys])


def settle_all(claimed: list[Claimed]) -> list[Settled]:
    with transaction.atomic():
        return settle_within([(each, succeed()) for each in claimed], using="default")


def lock(key: str) -> Job:
    return Job.objects.select_for_update(no_key=True).get(dedupe_key=key)


def test_a_settle_of_many_and_wishes_for_the_same_keys_do_not_deadlock() -> None:
    keys = [f"k{n:02}" for n in range(20)]
    put_all(keys)
    claimed = {each.dedupe_key: each for each in claim_all(20)}
    with Rival() as gate, Rival() as one, Rival() as two:
        # Both wait at one row in the middle of the order, then go on against each other.
        gate.begin()
        gate.do(lambda: lock("k10"))
        settling = one.start(lambda: settle_all([claimed[key] for key in reversed(keys)]))
        one.until_blocked()
        wishing = two.start(lambda: put_all(keys))
        two.until_blocked()
        gate.commit()
        assert len(settling.result(LONG)) == len(wishing.result(LONG)) == 20
    assert Job.objects.filter(state=State.READY).count() == 20, "every wish is served"


def test_a_settle_with_a_wake_up_among_its_jobs_keeps_to_the_order_too() -> None:
    put_all(["a", "b"])
    ended = claim_all(2)
    put_all(["a", "aa"])
    with Rival() as gate, Rival() as one, Rival() as two:
        # The wishes hold "a" and are on their way to "b" when the settle comes.
        gate.begin()
        gate.do(lambda: lock("aa"))
        wishing = two.start(lambda: put_all(["a", "aa", "b"]))
        two.until_blocked()
        settling = one.start(lambda: settle_all(ended))
        one.until_blocked()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM hubqueue_job WHERE dedupe_key = 'b' FOR NO KEY UPDATE NOWAIT"
            )
        gate.commit()
        assert len(settling.result(LONG)) == len(wishing.result(LONG)) - 1 == 2
    assert set(Job.objects.values_list("state", flat=True)) == {State.READY}


def test_two_runs_that_wish_for_each_others_key_spend_no_attempt() -> None:
    """Each holds the other's row when it settles: the server ends one of the two."""
    put_all(["a", "b"])
    first, second = claim_all(2)
    met = Barrier(2)

    def wish_for(key: str) -> Callable[..., None]:
        def wish(_: Callable[..., object]) -> None:
            scripted.using(dedupe_key=key).enqueue()
            met.wait(LONG)

        return wish

    with Rival() as one, Rival() as two:
        runs = [
            rival.start(lambda own=own, other=other: run(attempt_of(own, call=wish_for(other))))
            for rival, own, other in ((one, first, "b"), (two, second, "a"))
        ]
        outcomes = [each.result(LONG) for each in runs]
    (lost,) = [each for each in outcomes if isinstance(each, Owed)]
    paid = pay(lost)
    assert isinstance(paid, Settled)
    assert (paid.state, paid.attempts) == (State.READY, 0)
    assert list(Failure.objects.values_list("job_id", "code", "spent")) == [
        (lost.claimed.id, "row_busy", False)
    ]
