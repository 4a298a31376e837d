"""Officers' verbs: what each does, what it refuses, and the entry it leaves."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

import pytest

from hubqueue import officers
from hubqueue.errors import MoveRefused, Superseded
from hubqueue.lifecycle import operate
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.settle import give_up, settle
from hubqueue.models import Job, Operation, Pause
from hubqueue.states import Move, State, Stop
from tests.support.handlers import ABANDONED, scripted
from tests.support.rival import Rival
from tests.support.rows import claim_all, held, make_job, now

pytestmark = pytest.mark.django_db

BY: dict[str, Any] = {"actor": "pat", "reason": "test"}
HOUR = timedelta(hours=1)


@pytest.fixture
def let_go() -> Iterator[list[UUID]]:
    heard: list[UUID] = []
    ABANDONED["hooked"] = lambda job: heard.append(job.id)
    yield heard
    del ABANDONED["hooked"]


def test_park_sets_aside_with_its_reason_and_release_lets_go_at_its_own_moment() -> None:
    moment = now() + HOUR
    job = make_job(run_at=moment, attempts=1)
    assert officers.park(job.id, actor="pat", reason="look") == State.PARKED
    job.refresh_from_db()
    assert (job.park_reason, job.run_at) == ("look", moment)
    assert officers.release(job.id, **BY) == State.READY
    job.refresh_from_db()
    assert (job.park_reason, job.run_at, job.attempts) == (None, moment, 1)


@pytest.mark.parametrize("state", [State.READY, State.PARKED])
def test_run_now_makes_due(state: State) -> None:
    job = make_job(state, run_at=now() + HOUR)
    assert officers.run_now(job.id, **BY) == State.READY
    assert [each.id for each in claim_all()] == [job.id]


@pytest.mark.parametrize("state", [State.READY, State.PARKED])
def test_cancel_ends_a_waiting_job_with_its_hook(state: State, let_go: list[UUID]) -> None:
    job = make_job(state, payload={"script": "hooked"}, dedupe_key="k")
    assert officers.cancel(job.id, **BY) == State.CANCELLED
    job.refresh_from_db()
    assert job.finished_at is not None
    assert let_go == [job.id]
    assert Job.objects.count() == 1


@pytest.mark.parametrize("state", [State.READY, State.PARKED])
def test_cancel_leaves_a_pending_wake_up_to_a_successor(state: State) -> None:
    wake = now() + HOUR
    job = make_job(state, dedupe_key="k", rerun_at=wake, attempts=1)
    officers.cancel(job.id, **BY)
    successor = Job.objects.unfinished().get()
    assert (successor.run_at, successor.dedupe_key) == (wake, "k")


def test_cancel_and_park_of_a_running_job_are_requests(let_go: list[UUID]) -> None:
    job = make_job(State.RUNNING, payload={"script": "hooked"})
    for verb, stop in ((officers.park, Stop.PARK), (officers.cancel, Stop.CANCEL)):
        assert verb(job.id, **BY) == State.RUNNING
        job.refresh_from_db()
        assert (job.state, job.stop_requested) == (State.RUNNING, stop)
    assert job.park_reason is None
    assert let_go == []


def test_redrive_gives_fresh_attempts_and_is_due_now(let_go: list[UUID]) -> None:
    job = make_job(
        State.DEAD, attempts=3, failing_since=now() - HOUR, run_at=now() - HOUR, error_code="broke"
    )
    assert officers.redrive(job.id, **BY) == State.READY
    job.refresh_from_db()
    assert (job.attempts, job.failing_since, job.finished_at) == (0, None, None)
    assert job.error_code == "broke"
    assert job.run_at > now() - timedelta(seconds=5)


@pytest.mark.parametrize("state", [State.READY, State.RUNNING, State.PARKED])
def test_redrive_refuses_what_an_unfinished_job_superseded(state: State) -> None:
    dead = make_job(State.DEAD, dedupe_key="k")
    standing = make_job(state, dedupe_key="k")
    make_job(state, dedupe_key="k", kind="sample.other")
    with pytest.raises(Superseded) as refused:
        officers.redrive(dead.id, **BY)
    assert refused.value.by == standing.id
    assert str(refused.value) == f"superseded by {standing.id}"
    assert not Operation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_redrive_refuses_what_is_superseded_while_it_works() -> None:
    dead = make_job(State.DEAD, dedupe_key="k")
    with Rival() as rival, Rival() as officer:
        rival.begin()
        standing = rival.do(lambda: scripted.using(dedupe_key="k").enqueue())
        answer = officer.start(lambda: officers.redrive(dead.id, **BY))
        officer.until_blocked()
        rival.commit()
        with pytest.raises(Superseded) as refused:
            answer.result(30)
    assert refused.value.by == standing.id
    assert Job.objects.get(pk=dead.id).state == State.DEAD


@pytest.mark.django_db(transaction=True)
def test_a_verb_on_a_row_that_stays_locked_is_refused_as_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operate, "PATIENCE", "50ms")
    job = make_job()
    with Rival() as rival:
        rival.begin()
        rival.do(lambda: Job.objects.select_for_update().get(pk=job.pk))
        with pytest.raises(MoveRefused) as refused:
            officers.park(job.id, **BY)
    assert refused.value.code == "row_busy"


@pytest.mark.django_db(transaction=True)
def test_two_officers_at_once_do_not_overwrite_each_other() -> None:
    job = make_job()
    with Rival() as one, Rival() as two:
        one.begin()
        assert one.do(lambda: officers.cancel(job.id, **BY)) == State.CANCELLED
        answer = two.start(lambda: officers.park(job.id, **BY))
        two.until_blocked()
        one.commit()
        with pytest.raises(MoveRefused) as refused:
            answer.result(30)
    assert refused.value.code == "wrong_state"
    assert Operation.objects.count() == 1


def test_dismiss_ends_a_dead_letter_without_its_hook(let_go: list[UUID]) -> None:
    job = make_job(State.DEAD, payload={"script": "hooked"})
    died_at = job.finished_at
    assert officers.dismiss(job.id, **BY) == State.CANCELLED
    job.refresh_from_db()
    assert job.finished_at == died_at
    assert let_go == []


def test_one_verb_on_many_answers_per_row() -> None:
    ready, dead, gone = make_job(), make_job(State.DEAD), uuid4()
    answers = list(officers.each(Move.PARK, [ready.id, dead.id, gone], **BY))
    assert [(each.job_id, each.state, each.code) for each in answers] == [
        (ready.id, State.PARKED, ""),
        (dead.id, None, "wrong_state"),
        (gone, None, "unknown_job"),
    ]
    assert answers[1].message == "cannot park a job that is DEAD"


def test_redrive_of_many_takes_the_newest_of_a_key_and_answers_per_row() -> None:
    older, newer = make_job(State.DEAD, dedupe_key="k"), make_job(State.DEAD, dedupe_key="k")
    plain = [make_job(State.DEAD) for _ in range(2)]
    taken = make_job(State.DEAD, dedupe_key="taken")
    standing = make_job(State.PARKED, dedupe_key="taken")
    ready, gone = make_job(), uuid4()
    ids = [older.id, newer.id, *(each.id for each in plain), taken.id, ready.id, gone]

    answers = {each.job_id: each for each in officers.redrive_many(ids, **BY)}

    assert list(answers) == ids
    assert answers[newer.id].state == State.READY
    assert (answers[older.id].state, answers[older.id].code) == (None, "superseded")
    assert answers[older.id].message == f"superseded by {newer.id}"
    assert [answers[each.id].state for each in plain] == [State.READY] * 2
    assert answers[taken.id].message == f"superseded by {standing.id}"
    assert answers[ready.id].code == "wrong_state"
    assert answers[gone].code == "unknown_job"
    assert Operation.objects.filter(verb="redrive", actor="pat").count() == 3


def test_redrive_of_many_newest_first_holds_over_batches() -> None:
    ids = [make_job(State.DEAD, dedupe_key="k").id for _ in range(5)]
    newest_first = list(officers.find_dead())
    assert newest_first == ids[::-1]
    answers = list(officers.redrive_many(newest_first, batch=2, **BY))
    assert [each.job_id for each in answers if each.state] == [ids[-1]]
    assert {each.message for each in answers if not each.state} == {f"superseded by {ids[-1]}"}


def test_redrive_of_many_works_batch_by_batch_as_it_is_read() -> None:
    ids = [make_job(State.DEAD).id for _ in range(6)]
    answers = officers.redrive_many(ids, batch=2, **BY)
    assert len(list(islice(answers, 1))) == 1
    assert Job.objects.ready().count() == 2


@pytest.mark.django_db(transaction=True)
def test_redrive_of_many_survives_an_enqueue_of_one_of_its_keys() -> None:
    dead = [make_job(State.DEAD, dedupe_key=f"k{n}").id for n in range(3)]
    with Rival() as rival, Rival() as officer:
        rival.begin()
        standing = rival.do(lambda: scripted.using(dedupe_key="k1").enqueue())
        answers = officer.start(lambda: list(officers.redrive_many(dead, **BY)))
        officer.until_blocked()
        rival.commit()
        found = {each.job_id: each for each in answers.result(30)}
    assert [found[each].state for each in dead] == [State.READY, None, State.READY]
    assert found[dead[1]].message == f"superseded by {standing.id}"


@pytest.mark.django_db(transaction=True)
def test_redrive_of_many_looks_at_rows_as_they_are_once_their_locks_were_waited_for() -> None:
    dead, standing = make_job(State.DEAD, dedupe_key="k"), make_job(dedupe_key="k")
    dying = make_job(State.RUNNING)
    with Rival() as rival, Rival() as officer:
        rival.begin()
        rival.do(lambda: officers.cancel(standing.id, **BY))
        rival.do(lambda: settle(held(dying), give_up(Broken("broke")), using="default"))
        ids = [standing.id, dead.id, dying.id]
        answers = officer.start(lambda: list(officers.redrive_many(ids, **BY)))
        officer.until_blocked()
        rival.commit()
        assert [each.code for each in answers.result(30)] == ["wrong_state", "", ""]
    assert Job.objects.ready().count() == 2


def test_dead_letters_are_found_by_kind_code_queue_and_tenant() -> None:
    mine = make_job(State.DEAD, error_code="x", queue="mail", tenant_id="t")
    make_job(State.DEAD, kind="sample.other", error_code="y")
    for given in ({"kind": mine.kind}, {"code": "x"}, {"queue": "mail"}, {"tenant": "t"}):
        assert list(officers.find_dead(**given)) == [mine.id]
    assert len(list(officers.find_dead())) == 2


def test_a_pause_says_who_why_and_until_when_and_can_be_changed() -> None:
    until = now() + HOUR
    officers.pause("queue", "mail", actor="pat", reason="first")
    made = officers.pause("queue", "mail", actor="kim", reason="second", until=until)
    assert (made.reason, made.paused_by, made.until) == ("second", "kim", until)
    assert Pause.objects.count() == 1
    assert list(Pause.objects.in_force()) == [made]
    officers.resume("queue", "mail", **BY)
    assert not Pause.objects.exists()
    verbs = Operation.objects.order_by("id").values_list("verb", "target", "actor", "reason")
    assert list(verbs) == [
        ("pause", "queue mail", "pat", "first"),
        ("pause", "queue mail", "kim", "second"),
        ("resume", "queue mail", "pat", "test"),
    ]


def test_a_pause_that_makes_no_sense_is_refused() -> None:
    for scope, value, code in (
        ("planet", "x", "unknown_scope"),
        ("queue", "", "no_value"),
        ("queue", "x" * 101, "no_value"),
    ):
        with pytest.raises(MoveRefused) as refused:
            officers.pause(scope, value, **BY)
        assert refused.value.code == code
    with pytest.raises(MoveRefused) as refused:
        officers.resume("queue", "mail", **BY)
    assert refused.value.code == "not_paused"
    assert not Operation.objects.exists()


@pytest.mark.parametrize("odd", ["nul \x00", "lone \ud800", "x" * 5000])
def test_a_reason_or_actor_that_cannot_be_stored_as_it_is_stops_no_verb(odd: str) -> None:
    job = make_job()
    assert officers.park(job.id, actor=odd, reason=odd) == State.PARKED
    assert officers.release(job.id, actor=odd, reason=odd) == State.READY
    officers.pause("queue", "mail", actor=odd, reason=odd)
    dead = make_job(State.DEAD)
    assert [each.state for each in officers.redrive_many([dead.id], actor=odd, reason=odd)]
