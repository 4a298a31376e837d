"""Enqueue against an unfinished job of the same key: one row of the dedupe table per test."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from hubqueue.api import Enqueued, Outcome, PayloadRefused
from hubqueue.models import Job
from hubqueue.states import FINISHED, State
from tests.support.handlers import mailed, scripted
from tests.support.rows import make_job, now

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
SPANS = [-HOUR, -timedelta(minutes=1), HOUR, 2 * HOUR]


def again(run_at: datetime | None = None, priority: int = 0, script: str | None = None) -> Enqueued:
    ready = scripted.using(dedupe_key="k", run_at=run_at, priority=priority)
    return ready.enqueue() if script is None else ready.enqueue(script=script)


@pytest.mark.parametrize("standing", SPANS)
@pytest.mark.parametrize("asked", SPANS)
def test_ready_and_never_run_moves_to_the_earlier_moment(
    standing: timedelta, asked: timedelta
) -> None:
    moment = now()
    job = make_job(dedupe_key="k", run_at=moment + standing)
    answer = again(run_at=moment + asked)
    job.refresh_from_db()
    assert answer == Enqueued(job.id, Outcome.COLLAPSED, same_payload=True)
    assert job.run_at == moment + min(standing, asked)
    assert job.rerun_at is None
    assert Job.objects.count() == 1


@pytest.mark.parametrize("pending", [None, timedelta(minutes=30), 3 * HOUR])
@pytest.mark.parametrize("asked", [*SPANS, None])
def test_waiting_for_a_retry_keeps_the_retrys_moment_and_remembers_a_later_one(
    asked: timedelta | None, pending: timedelta | None
) -> None:
    moment = now()
    retry_at = moment + timedelta(minutes=10)
    rerun_at = None if pending is None else moment + pending
    job = make_job(dedupe_key="k", attempts=1, run_at=retry_at, rerun_at=rerun_at)
    answer = again(run_at=None if asked is None else moment + asked)
    job.refresh_from_db()
    assert answer.outcome == Outcome.COLLAPSED
    assert (job.run_at, job.attempts) == (retry_at, 1)
    later = [] if asked is None or asked < timedelta(minutes=10) else [moment + asked]
    assert job.rerun_at == min([*later, *([rerun_at] if rerun_at else [])], default=None)


def test_a_wake_up_that_the_retry_serves_anyway_takes_no_later_ones_place() -> None:
    moment = now()
    job = make_job(dedupe_key="k", attempts=1, run_at=moment + HOUR, rerun_at=moment)
    again(run_at=moment + 2 * HOUR)
    job.refresh_from_db()
    assert (job.run_at, job.rerun_at) == (moment + HOUR, moment + 2 * HOUR)


def test_each_request_of_a_call_is_told_whether_its_own_payload_stands() -> None:
    make_job(dedupe_key="k", payload={"script": "one"})
    ready = scripted.using(dedupe_key="k")
    scripts = ["two", "one", "three", "one"]
    answers = scripted.enqueue_many([ready.item(script=each) for each in scripts])
    assert [each.same_payload for each in answers] == [each == "one" for each in scripts]


def test_ten_wake_ups_in_an_outage_burn_no_attempt() -> None:
    job = make_job(dedupe_key="k", attempts=1, run_at=now() + HOUR)
    for _ in range(10):
        again()
    job.refresh_from_db()
    assert job.attempts == 1
    assert job.run_at > now() + HOUR / 2


@pytest.mark.parametrize("pending", [None, *SPANS])
@pytest.mark.parametrize("asked", SPANS)
def test_running_keeps_the_earliest_moment_asked_for(
    asked: timedelta, pending: timedelta | None
) -> None:
    moment = now()
    rerun_at = None if pending is None else moment + pending
    job = make_job(State.RUNNING, dedupe_key="k", rerun_at=rerun_at)
    before = job.run_at
    answer = again(run_at=moment + asked)
    job.refresh_from_db()
    assert answer == Enqueued(job.id, Outcome.RERUN, same_payload=True)
    assert job.rerun_at == min(moment + asked, rerun_at or moment + asked)
    assert (job.run_at, job.state) == (before, State.RUNNING)


def test_parked_stays_parked_because_an_officer_said_no() -> None:
    job = make_job(State.PARKED, dedupe_key="k")
    before = job.run_at
    answer = again()
    job.refresh_from_db()
    assert answer == Enqueued(job.id, Outcome.PARKED, same_payload=True)
    assert (job.state, job.run_at, job.rerun_at) == (State.PARKED, before, None)


@pytest.mark.parametrize("state", sorted(FINISHED))
def test_finished_frees_the_key_for_a_new_job(state: State) -> None:
    job = make_job(state, dedupe_key="k")
    answer = again()
    assert answer.outcome == Outcome.NEW
    assert answer.id != job.id
    assert Job.objects.get(pk=answer.id).state == State.READY


@pytest.mark.parametrize("state", [State.READY, State.RUNNING, State.PARKED])
def test_the_standing_row_keeps_its_payload_and_takes_the_more_urgent_priority(
    state: State,
) -> None:
    job = make_job(state, dedupe_key="k", priority=5, payload={"script": "old"})
    assert again(priority=9, script="new").same_payload is False
    job.refresh_from_db()
    assert (job.priority, job.payload) == (5, {"script": "old"})
    assert again(priority=-3, script="old").same_payload is True
    job.refresh_from_db()
    assert (job.priority, job.payload) == (-3, {"script": "old"})


def test_without_a_key_nothing_collapses() -> None:
    assert {scripted.enqueue().outcome for _ in range(3)} == {Outcome.NEW}
    assert Job.objects.count() == 3


def test_a_key_is_unique_per_kind() -> None:
    again()
    assert mailed.using(dedupe_key="k").enqueue(to="x").outcome == Outcome.NEW


def test_a_thousand_at_once_get_an_answer_each_in_their_order() -> None:
    standing = {
        "k0": (make_job(dedupe_key="k0"), Outcome.COLLAPSED),
        "k1": (make_job(State.RUNNING, dedupe_key="k1"), Outcome.RERUN),
        "k2": (make_job(State.PARKED, dedupe_key="k2"), Outcome.PARKED),
    }
    before = Job.objects.count()
    keys = [f"k{n}" for n in range(998)] + ["k500", "k501"]
    items = [scripted.using(dedupe_key=key).item() for key in keys]

    answers = scripted.enqueue_many(items)

    assert len(answers) == 1000
    for key, (job, outcome) in standing.items():
        assert (answers[keys.index(key)].id, answers[keys.index(key)].outcome) == (job.id, outcome)
    assert answers[998] == Enqueued(answers[500].id, Outcome.COLLAPSED, same_payload=True)
    assert answers[999].id == answers[501].id
    assert {each.outcome for each in answers[3:998]} == {Outcome.NEW}
    assert Job.objects.count() - before == 995
    rows = dict(Job.objects.values_list("id", "dedupe_key"))
    assert [rows[each.id] for each in answers] == keys


def test_equal_keys_in_one_call_take_the_earliest_moment_and_the_most_urgent_priority() -> None:
    moment = now() + HOUR
    first, second, third = scripted.enqueue_many(
        [
            scripted.using(dedupe_key="k", run_at=moment, priority=4).item(script="first"),
            scripted.using(dedupe_key="k", run_at=moment - HOUR / 2, priority=9).item(script="b"),
            scripted.using(dedupe_key="k", run_at=moment, priority=2).item(script="first"),
        ]
    )
    job = Job.objects.get()
    assert first.id == second.id == third.id == job.id
    assert [first.outcome, second.outcome, third.outcome] == ["new", "collapsed", "collapsed"]
    assert [first.same_payload, second.same_payload, third.same_payload] == [True, False, True]
    assert (job.priority, job.run_at) == (2, moment - HOUR / 2)
    assert job.payload == {"script": "first"}


def test_now_beats_any_later_moment_in_one_call() -> None:
    scripted.enqueue_many(
        [
            scripted.using(dedupe_key="k", run_at=now() + HOUR).item(),
            scripted.using(dedupe_key="k").item(),
        ]
    )
    assert Job.objects.get().run_at <= now()


def test_a_bulk_call_takes_several_kinds() -> None:
    answers = scripted.enqueue_many([scripted.item(), mailed.item(to="x")])
    kinds = dict(Job.objects.values_list("id", "kind"))
    assert [kinds[each.id] for each in answers] == ["sample.scripted", "sample.mailed"]


def test_one_invalid_request_of_many_stores_none() -> None:
    with pytest.raises(PayloadRefused):
        scripted.enqueue_many(
            [scripted.item(), scripted.using(meta={"x": "y" * 5000}).item(), scripted.item()]
        )
    assert not Job.objects.exists()


def test_nothing_asked_is_nothing_done() -> None:
    assert scripted.enqueue_many([]) == []


def test_ids_are_made_by_the_client_and_ascend() -> None:
    ids = [scripted.enqueue().id for _ in range(20)]
    assert ids == sorted(ids)
    assert {each.version for each in ids} == {7}
    assert uuid4() not in ids
