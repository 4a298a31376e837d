"""What a handler answers or raises, what becomes of its job, and what is kept about it."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection
from msgspec.structs import replace

from hubqueue.api import Dead, Done, JobContext, Park, Repeat, Result, Retry
from hubqueue.conf import conf
from hubqueue.errors import Interrupted, StopRequested, TimedOut
from hubqueue.lifecycle import failure
from hubqueue.lifecycle.context import Watch
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Failure, Job
from hubqueue.states import State, Stop
from hubqueue.testing import move_clock, run_due_jobs
from tests.support.handlers import ABANDONED, script, scripted, scripted_detached, stubborn
from tests.support.rows import attempt_of, claim_one, make_job, now

pytestmark = pytest.mark.django_db

BOTH = pytest.mark.parametrize("each", [scripted, scripted_detached])
HOUR = timedelta(hours=1)


@pytest.fixture
def boom() -> Iterator[str]:
    def fail(job: JobContext) -> None:
        raise RuntimeError("boom")

    with script(fail) as name:
        yield name


@BOTH
@pytest.mark.parametrize(
    ("answer", "state", "attempts", "code"),
    [
        (None, State.SUCCEEDED, 1, None),
        (Done(), State.SUCCEEDED, 1, None),
        (Repeat(after=HOUR), State.READY, 0, None),
        (Retry(after=HOUR), State.READY, 1, "retry"),
        (Retry(after=HOUR, code="busy", spend=False), State.READY, 0, "busy"),
        (Retry(code="not a word at all " * 9), State.READY, 1, "retry"),
        (Dead(code="no_such_user"), State.DEAD, 1, "no_such_user"),
        (Dead(code="\x00"), State.DEAD, 1, "dead"),
        (Park(reason="look"), State.PARKED, 0, None),
        (Park(reason="nul \x00 lone \ud800" + "x" * 300), State.PARKED, 0, None),
    ],
)
def test_each_answer_ends_where_it_should(
    each: Any, answer: Result | None, state: State, attempts: int, code: str | None
) -> None:
    with script(lambda job: answer) as name:
        job_id = each.enqueue(script=name).id
        run_due_jobs()
    job = Job.objects.get(pk=job_id)
    assert (job.state, job.attempts, job.error_code) == (state, attempts, code)


@BOTH
@pytest.mark.parametrize("answer", ["text", 5, {"a": 1}, Done, object()])
def test_another_answer_is_a_failed_attempt(each: Any, answer: Any) -> None:
    with script(lambda job: answer) as name:
        job_id = each.enqueue(script=name).id
        run_due_jobs()
    assert Failure.objects.get(job_id=job_id).code == "unknown_answer"


@pytest.mark.parametrize("answer", [Retry(after=HOUR), Dead(code="x"), Park(reason="x"), Done()])
def test_a_transactional_answer_commits_the_handlers_writes(answer: Result) -> None:
    def write(job: JobContext) -> Result:
        Group.objects.create(name="kept")
        return answer

    with script(write) as name:
        scripted.enqueue(script=name)
        run_due_jobs()
    assert Group.objects.filter(name="kept").exists()


def test_repeat_takes_one_moment_and_an_aware_one() -> None:
    for wrong in ({}, {"after": HOUR, "at": now()}):
        with pytest.raises(TypeError):
            Repeat(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="aware"):
        Repeat(at=datetime(2026, 1, 1))  # noqa: DTZ001


ODD: list[BaseException] = [
    Exception("nul \x00 lone \ud800" + "x" * 3_000_000),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    ExceptionGroup("many", [ValueError("one")]),
    type("Odd", (Exception,), {"__qualname__": "nul \x00 lone \ud800"})("x"),
    type(
        "Rude", (Exception,), {"__str__": lambda self: 1 / 0, "code": property(lambda self: 1 / 0)}
    )(),
    type("Coded", (Exception,), {"code": "nul \x00"})(),
    type("Fake", (Exception,), {"sqlstate": 5, "diag": 7})(),
    type("Long", (Exception,), {"code": "c" * 65})(),
]


@BOTH
@pytest.mark.parametrize("raised", ODD, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("stored", [False, True])
def test_whatever_is_raised_the_attempt_fails_and_the_job_moves_on(
    each: Any, raised: BaseException, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _store_messages(monkeypatch, stored)

    def fail(job: JobContext) -> None:
        raise raised

    with script(fail) as name:
        job_id = each.enqueue(script=name).id
        settled = run(replace(attempt_of(claim_one()), nested=True))
    assert isinstance(settled, Settled)
    job = Job.objects.get(pk=job_id)
    assert (job.state, job.attempts, job.error_code) == (State.READY, 1, "exception")
    assert len(job.failures.get().message) <= 500


def test_an_exceptions_own_code_is_kept_and_counted() -> None:
    class Declined(Exception):
        code = "card_declined"

    def fail(job: JobContext) -> None:
        raise Declined

    with script(fail) as name:
        job_id = scripted.enqueue(script=name).id
        run_due_jobs()
    assert Job.objects.get(pk=job_id).error_code == "card_declined"


@pytest.mark.parametrize(
    "result",
    ["nul \x00", "lone \ud800", float("nan"), 10**400, {1: 2}, b"\xff", "x" * 20_000_000, object()],
    ids=lambda each: type(each).__name__,
)
@BOTH
def test_a_result_that_cannot_be_stored_never_leaves_a_job_stuck(each: Any, result: Any) -> None:
    with script(lambda job: Done(result)) as name:
        job_id = each.enqueue(script=name).id
        run_due_jobs()
    job = Job.objects.get(pk=job_id)
    assert job.state == State.SUCCEEDED
    assert isinstance(job.result, str) or "not_stored" in job.result


@pytest.mark.parametrize(
    "answer",
    [
        lambda: Repeat(after=timedelta.max),
        lambda: Retry(after=timedelta.max),
        lambda: Repeat(after=timedelta(days=365 * 9000)),
        lambda: Retry(after=timedelta(days=365 * 9000)),
        lambda: Repeat(after="soon"),
        lambda: Park(reason=None),
        lambda: Dead(code=None),
        lambda: Retry(code=b"x"),
    ],
)
@BOTH
def test_an_answer_that_makes_no_sense_never_leaves_a_job_stuck(each: Any, answer: Any) -> None:
    with script(lambda job: answer()) as name:
        job_id = each.enqueue(script=name).id
        run_due_jobs()
    job = Job.objects.get(pk=job_id)
    assert job.state in {State.READY, State.DEAD}
    assert job.run_at < now() + timedelta(days=366)


def test_the_job_dies_when_its_attempts_are_used_up(boom: str) -> None:
    job_id = scripted.enqueue(script=boom).id
    states = []
    for day in range(4):
        with move_clock(timedelta(days=day)):
            states += [run.state for run in run_due_jobs().runs]
    assert states == [State.READY, State.READY, State.DEAD]
    job = Job.objects.get(pk=job_id)
    assert (job.attempts, job.error_code) == (3, "exception")


def test_giving_up_needs_both_bounds() -> None:
    job_id = stubborn.enqueue().id
    for minutes in (0, 10, 20, 30, 40, 50):
        with move_clock(timedelta(minutes=minutes)):
            run_due_jobs()
    job = Job.objects.get(pk=job_id)
    assert job.state == State.READY
    assert job.attempts > job.max_attempts
    with move_clock(timedelta(minutes=70)):
        run_due_jobs()
    job.refresh_from_db()
    assert job.state == State.DEAD


def test_a_job_without_attempts_left_dies_at_its_claim_with_its_hook_without_running(
    boom: str,
) -> None:
    let_go: list[int] = []
    ABANDONED[boom] = lambda job: let_go.append(job.attempt)
    job = make_job(attempts=3, error_code="worker_died", payload={"script": boom}, suspect=True)
    report = run_due_jobs()
    job.refresh_from_db()
    assert (job.state, job.attempts, job.error_code) == (State.DEAD, 3, "worker_died")
    assert let_go == [4]
    assert not job.failures.exists()
    assert report.failures[0].code == "worker_died"


@BOTH
def test_the_abandon_hooks_writes_commit_with_the_dead_letter(each: Any, boom: str) -> None:
    ABANDONED[boom] = lambda job: Group.objects.create(name=f"let go {job.id}")
    job = make_job(kind=each.kind, attempts=2, payload={"script": boom})
    run_due_jobs()
    assert Group.objects.get().name == f"let go {job.id}"


def _break_in_sql(job: JobContext) -> None:
    Group.objects.create(name="half")
    connection.cursor().execute("SELECT 1 / 0")


def _swallow_in_sql(job: JobContext) -> None:
    try:
        _break_in_sql(job)
    except Exception:
        pass


def _swallow_in_orm(job: JobContext) -> None:
    Group.objects.create(name="half")
    try:
        Group.objects.create(name="half")
    except IntegrityError:
        pass


def _exit(job: JobContext) -> None:
    raise SystemExit


@BOTH
@pytest.mark.parametrize("hook", [_break_in_sql, _swallow_in_sql, _swallow_in_orm, _exit, "raise"])
def test_an_abandon_hook_that_breaks_is_rolled_back_and_recorded_and_the_move_stands(
    each: Any, boom: str, hook: Any
) -> None:
    def fail(job: JobContext) -> None:
        Group.objects.create(name="half")
        raise LookupError

    ABANDONED[boom] = fail if hook == "raise" else hook
    job = make_job(kind=each.kind, attempts=2, payload={"script": boom})
    run_due_jobs()
    job.refresh_from_db()
    assert job.state == State.DEAD
    assert not Group.objects.exists()
    codes = list(job.failures.order_by("id").values_list("code", flat=True))
    assert codes == ["exception", "abandon_failed"]


def test_an_abandon_hook_may_enqueue_the_same_key_beside_a_pending_wake_up(boom: str) -> None:
    ABANDONED[boom] = lambda job: scripted.using(dedupe_key="k").enqueue(script="again")
    job = make_job(attempts=2, payload={"script": boom}, dedupe_key="k")
    claimed = claim_one()
    Job.objects.filter(pk=job.pk).update(rerun_at=now() + HOUR)
    settled = run(replace(attempt_of(claimed), nested=True))
    assert settled.state == State.DEAD  # type: ignore[union-attr]
    successor = Job.objects.unfinished().get()
    assert successor.payload == {"script": "again"}
    assert successor.run_at <= now()


def test_the_history_keeps_the_last_twenty(boom: str) -> None:
    job = make_job(max_attempts=100, payload={"script": boom})
    for day in range(25):
        with move_clock(timedelta(days=day)):
            run_due_jobs()
    attempts = list(job.failures.order_by("id").values_list("attempt", flat=True))
    assert attempts == list(range(6, 26))


def test_a_success_writes_no_history() -> None:
    scripted.enqueue()
    run_due_jobs()
    assert not Failure.objects.exists()


def test_an_interrupted_attempt_is_handed_back_unspent_and_a_timed_out_one_is_spent() -> None:
    for raised, attempts, code in ((Interrupted(), 0, "interrupted"), (TimedOut(), 1, "timeout")):

        def fail(job: JobContext, raised: BaseException = raised) -> None:
            raise raised

        with script(fail) as name:
            job_id = scripted.enqueue(script=name).id
            run(replace(attempt_of(claim_one()), nested=True))
        job = Job.objects.get(pk=job_id)
        assert (job.state, job.attempts, job.error_code) == (State.READY, attempts, code)
        job.delete()


def test_a_handler_that_stops_when_asked_ends_as_the_officer_asked() -> None:
    job = make_job(kind="sample.scripted_detached")
    with script(lambda job: job.checkpoint()) as name:
        Job.objects.filter(pk=job.pk).update(payload={"script": name})
        claimed = claim_one()
        Job.objects.filter(pk=job.pk).update(stop_requested=Stop.CANCEL)
        watch = Watch(stop=Stop.CANCEL)
        settled = run(replace(attempt_of(claimed, watch=watch), nested=True))
    assert settled.state == State.CANCELLED  # type: ignore[union-attr]


def test_checkpoint_says_nothing_until_somebody_asks() -> None:
    scripted.enqueue()
    watch = Watch()
    job = attempt_of(claim_one(), watch=watch).job
    job.checkpoint()
    watch.lost = True
    assert job.cancelled
    with pytest.raises(StopRequested):
        job.checkpoint()


def _store_messages(monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    monkeypatch.setattr(
        failure, "conf", lambda: dataclasses.replace(conf(), store_error_messages=stored)
    )
