"""How an attempt ends: five outcomes, hand-back and rescue against a wake-up that landed and a stop request."""

from datetime import timedelta
from itertools import product
from uuid import uuid4

import pytest
from django.db import transaction

from hubqueue.errors import LeaseLost
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.settle import Verdict, settle, settle_within
from hubqueue.models import Job
from hubqueue.states import State, Stop
from tests.support.rows import claim_all, held, make_job, now

pytestmark = pytest.mark.django_db

BROKEN = Broken("broke")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
CLOSE = timedelta(seconds=5)


def end(verdict: Verdict, **values: object) -> tuple[Job, Job | None]:
    """Settle a running job of a key; answer its row and its successor's, if there is one."""
    key = str(uuid4())
    job = make_job(
        State.RUNNING, dedupe_key=key, attempts=2, failing_since=now(), error_code="old", **values
    )
    settled = settle(held(job), verdict, using="default")
    job.refresh_from_db()
    assert settled.state == job.state
    successor = Job.objects.filter(dedupe_key=key).exclude(pk=job.pk).first()
    assert settled.abandoned == (job.state in {State.DEAD, State.CANCELLED})
    return job, successor


def near(one: object, other: object) -> bool:
    return abs(one - other) < CLOSE  # type: ignore[operator]


def test_done_without_a_wake_up_is_finished() -> None:
    job, successor = end(verdicts.succeed('{"n": 1}'))
    assert (job.state, job.attempts, job.result) == (State.SUCCEEDED, 2, {"n": 1})
    assert near(job.finished_at, now())
    assert (job.failing_since, job.error_code, successor) == (None, None, None)


def test_done_with_a_wake_up_is_ready_at_its_moment_with_fresh_attempts() -> None:
    moment = now() + HOUR
    job, successor = end(verdicts.succeed(), rerun_at=moment)
    assert (job.state, job.attempts, job.run_at, job.rerun_at) == (State.READY, 0, moment, None)
    assert (job.finished_at, job.failing_since, successor) == (None, None, None)


@pytest.mark.parametrize(
    ("wake", "expected", "kept"), [(MINUTE, MINUTE, False), (2 * HOUR, HOUR, True)]
)
def test_repeat_is_ready_at_the_earlier_of_its_moment_and_the_wake_ups(
    wake: timedelta, expected: timedelta, kept: bool
) -> None:
    job, _ = end(verdicts.repeat(after=HOUR), rerun_at=now() + wake)
    assert (job.state, job.attempts) == (State.READY, 0)
    assert near(job.run_at, now() + expected)
    assert (job.rerun_at is not None) == kept


def test_repeat_at_takes_the_moment_as_it_is() -> None:
    moment = now() + HOUR
    assert end(verdicts.repeat(at=moment))[0].run_at == moment


@pytest.mark.parametrize(
    ("verdict", "attempts"),
    [
        (verdicts.retry(BROKEN, after=HOUR), 2),
        (verdicts.retry(BROKEN, after=HOUR, spend=False), 1),
        (verdicts.hand_back("row_busy", after=HOUR), 1),
        (verdicts.rescue(BROKEN, after=HOUR, spend=True, suspect=True), 2),
        (verdicts.rescue(BROKEN, after=HOUR, spend=False, suspect=True), 1),
    ],
)
@pytest.mark.parametrize("wake", [-HOUR, MINUTE, 2 * HOUR])
def test_what_comes_back_keeps_its_own_moment_and_the_wake_up(
    verdict: Verdict, attempts: int, wake: timedelta
) -> None:
    rerun_at = now() + wake
    job, successor = end(verdict, rerun_at=rerun_at)
    assert (job.state, job.attempts, job.rerun_at) == (State.READY, attempts, rerun_at)
    assert near(job.run_at, now() + HOUR)
    assert successor is None


def test_a_hand_back_without_a_wait_is_due_where_it_was() -> None:
    moment = now() - HOUR
    job, _ = end(verdicts.hand_back(), run_at=moment)
    assert (job.run_at, job.attempts, job.error_code) == (moment, 1, "old")
    assert not job.failures.exists()


def test_park_keeps_the_wake_up_and_says_why() -> None:
    rerun_at = now()
    job, successor = end(verdicts.set_aside("no address"), rerun_at=rerun_at)
    assert (job.state, job.park_reason, job.rerun_at) == (State.PARKED, "no address", rerun_at)
    assert successor is None


def test_a_dead_letter_leaves_the_wake_up_to_a_new_job_of_the_same_payload() -> None:
    moment = now() + MINUTE
    job, successor = end(
        verdicts.give_up(BROKEN),
        rerun_at=moment,
        payload={"script": "x"},
        tenant_id="t",
        priority=3,
        meta={"caller": "me"},
    )
    assert (job.state, job.error_code, job.rerun_at) == (State.DEAD, "broke", None)
    assert successor is not None
    assert (successor.state, successor.attempts, successor.run_at) == (State.READY, 0, moment)
    same = (
        "kind",
        "queue",
        "dedupe_key",
        "payload",
        "tenant_id",
        "priority",
        "meta",
        "max_attempts",
    )
    assert [getattr(successor, name) for name in same] == [getattr(job, name) for name in same]


def test_a_dead_letter_without_a_wake_up_has_no_successor() -> None:
    assert end(verdicts.give_up(BROKEN))[1] is None


EVERY = {
    "repeat": verdicts.repeat(after=HOUR),
    "retry": verdicts.retry(BROKEN, after=HOUR),
    "give up": verdicts.give_up(BROKEN),
    "set aside": verdicts.set_aside("handler's"),
    "hand back": verdicts.hand_back("row_busy"),
    "rescue": verdicts.rescue(BROKEN, after=None, spend=False, suspect=True),
    "overdrawn": verdicts.give_up_overdrawn(),
}


@pytest.mark.parametrize(("name", "rerun"), list(product(EVERY, [False, True])))
def test_after_a_cancel_request_every_outcome_but_done_ends_cancelled(
    name: str, rerun: bool
) -> None:
    wake = now() if rerun else None
    job, successor = end(EVERY[name], stop_requested=Stop.CANCEL, rerun_at=wake)
    assert job.state == State.CANCELLED
    assert job.finished_at is not None
    assert job.park_reason is None
    assert (successor is not None) == rerun


@pytest.mark.parametrize(("name", "rerun"), list(product(EVERY, [False, True])))
def test_after_a_park_request_every_outcome_but_done_ends_parked_with_the_officers_reason(
    name: str, rerun: bool
) -> None:
    wake = now() if rerun else None
    job, successor = end(
        EVERY[name], stop_requested=Stop.PARK, park_reason="officer's", rerun_at=wake
    )
    assert (job.state, job.park_reason, job.finished_at) == (State.PARKED, "officer's", None)
    assert job.rerun_at == wake
    assert successor is None


@pytest.mark.parametrize("stop", list(Stop))
def test_done_stands_against_a_stop_request(stop: Stop) -> None:
    job, successor = end(verdicts.succeed(), stop_requested=stop, park_reason="officer's")
    assert (job.state, successor) == (State.SUCCEEDED, None)
    assert near(job.finished_at, now())


def test_done_after_a_park_request_parks_the_wake_up_instead_of_running_it() -> None:
    job, _ = end(
        verdicts.succeed(), stop_requested=Stop.PARK, park_reason="officer's", rerun_at=now()
    )
    assert (job.state, job.park_reason, job.attempts) == (State.PARKED, "officer's", 0)


@pytest.mark.parametrize("wake", [-MINUTE, MINUTE])
def test_a_claim_serves_a_wake_up_that_is_due_and_keeps_a_later_one(wake: timedelta) -> None:
    rerun_at = now() + wake
    job = make_job(rerun_at=rerun_at, dedupe_key="k")
    assert len(claim_all()) == 1
    job.refresh_from_db()
    assert job.rerun_at == (rerun_at if wake > timedelta(0) else None)


def test_the_first_failure_starts_the_clock_of_giving_up_and_a_success_stops_it() -> None:
    job = make_job(State.RUNNING)
    settle(held(job), verdicts.retry(BROKEN, after=timedelta(0)), using="default")
    job.refresh_from_db()
    first = job.failing_since
    assert first is not None
    (claimed,) = claim_all()
    settle(claimed, verdicts.retry(BROKEN, after=timedelta(0)), using="default")
    job.refresh_from_db()
    assert job.failing_since == first
    (claimed,) = claim_all()
    settle(claimed, verdicts.repeat(after=HOUR), using="default")
    job.refresh_from_db()
    assert job.failing_since is None


def test_many_attempts_are_settled_by_one_statement_or_none_of_them() -> None:
    jobs = [make_job(State.RUNNING) for _ in range(3)]
    claims = [held(job) for job in jobs]
    Job.objects.filter(pk=jobs[1].pk).update(fence=8)
    with pytest.raises(LeaseLost):
        with transaction.atomic():
            settle_within([(each, verdicts.succeed()) for each in claims], using="default")
    assert Job.objects.running().count() == 3
    settled = settle_within(
        [(each, verdicts.succeed()) for each in claims], using="default", all_or_nothing=False
    )
    assert {each.id for each in settled} == {jobs[0].id, jobs[2].id}
    assert Job.objects.running().get().id == jobs[1].id
