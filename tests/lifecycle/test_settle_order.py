"""A settle of many answers in the order in which it was asked, however it takes the rows."""

from datetime import timedelta

import pytest
from django.db import transaction

from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.owed import Owed, pay_together
from hubqueue.lifecycle.settle import Verdict, give_up, hand_back, settle_within, succeed
from hubqueue.models import Failure, Job
from hubqueue.states import State
from tests.support.rows import claim_all, make_job

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = timedelta(minutes=1)
PLAIN, RESULT, BACK = succeed(), succeed('{"n": 1}'), hand_back(after=MINUTE)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("verdicts", [[PLAIN] * 4, [RESULT, PLAIN, RESULT, PLAIN]])
def test_answers_are_in_the_order_asked(verdicts: list[Verdict], commit: bool) -> None:
    for key in ("d", "b", "c", "a"):
        make_job(dedupe_key=key)
    claimed = claim_all()[::-1]
    claimed = [claimed[1], claimed[3], claimed[0], claimed[2]]
    asked = list(zip(claimed, verdicts, strict=True))
    with transaction.atomic():
        settled = settle_within(asked, using="default", commit=commit)
    assert [each.id for each in settled] == [each.id for each in claimed]
    assert {each.state for each in settled} == {State.SUCCEEDED}


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_attempts_of_one_job_only_the_one_that_holds_it_is_settled(order: int) -> None:
    job = make_job()
    (stale,) = claim_all()
    Job.objects.update(state=State.READY, claimed_by=None)
    (fresh,) = claim_all()
    let_go: list[Claimed] = []
    owed = [
        Owed(each, give_up(Broken("broke")), "default", let_go.append) for each in (stale, fresh)
    ]
    pay_together(owed[::order], using="default")
    assert [each.fence for each in let_go] == [fresh.fence]
    assert Failure.objects.filter(job_id=job.pk).count() == 1


def test_what_was_lost_is_left_out_and_the_others_keep_their_order() -> None:
    for key in ("d", "b", "c", "a"):
        make_job(dedupe_key=key)
    claimed = claim_all()[::-1]
    Job.objects.filter(pk=claimed[1].id).update(fence=claimed[1].fence + 1)
    with transaction.atomic():
        settled = settle_within(
            [
                (each, verdict)
                for each, verdict in zip(claimed, [BACK, PLAIN, PLAIN, BACK], strict=True)
            ],
            using="default",
            all_or_nothing=False,
        )
    assert [each.id for each in settled] == [claimed[0].id, claimed[2].id, claimed[3].id]
    assert [each.state for each in settled] == [State.READY, State.SUCCEEDED, State.READY]
