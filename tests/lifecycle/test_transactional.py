"""Transactional: the handler's writes and the job's completion are one commit, or none of them happened."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import DatabaseError, connection, transaction

from hubqueue.api import Done, JobContext, Repeat, Result
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Failure, Job
from hubqueue.states import State
from tests.support.cut import cut, lose_the_next_commit
from tests.support.handlers import script, scripted, scripted_detached
from tests.support.rival import Rival
from tests.support.rows import attempt_of, claim_all, claim_one

pytestmark = pytest.mark.django_db(transaction=True)


def write(job: JobContext) -> None:
    Group.objects.create(name=f"attempt {job.attempt}")


def run_script(function: Callable[[JobContext], Result | None], each: Any = scripted) -> Any:
    with script(function) as name:
        each.enqueue(script=name)
        return run(attempt_of(claim_one()))


def test_nobody_sees_half_of_it() -> None:
    with Rival() as rival:

        def look(job: JobContext) -> None:
            write(job)
            assert rival.do(Group.objects.count) == 0
            assert rival.do(Job.objects.get).state == State.RUNNING

        assert run_script(look).state == State.SUCCEEDED
        assert rival.do(Group.objects.count) == 1


def test_a_handler_that_raises_leaves_nothing() -> None:
    def fail(job: JobContext) -> None:
        write(job)
        raise LookupError

    assert run_script(fail).state == State.READY
    assert not Group.objects.exists()


@pytest.mark.parametrize("how", ["orm", "sql"])
def test_a_swallowed_database_error_is_a_failed_attempt_and_nothing_of_it_is_written(
    how: str,
) -> None:
    def swallow(job: JobContext) -> Result:
        write(job)
        try:
            if how == "orm":
                write(job)
            else:
                connection.cursor().execute("SELECT 1 / 0")
        except DatabaseError:
            pass
        return Done("fine")

    assert run_script(swallow).state == State.READY
    assert not Group.objects.exists()
    job = Job.objects.get()
    assert (job.attempts, job.result) == (1, None)
    assert job.failures.get().spent


def test_a_deferred_constraint_fails_the_attempt_at_its_commit_by_name() -> None:
    def dangle(job: JobContext) -> None:
        write(job)
        Permission.objects.create(content_type_id=0, codename="x")

    assert run_script(dangle).state == State.READY
    assert not Group.objects.exists()
    failure = Failure.objects.get()
    assert (failure.code, failure.sqlstate) == ("database_error", "23503")
    assert failure.constraint.startswith("auth_permission_content_type_id")


def test_a_hook_after_commit_that_raises_loses_no_other_and_does_not_fail_the_job(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[str] = []

    def hooks(job: JobContext) -> None:
        transaction.on_commit(lambda: heard.append("first"))
        transaction.on_commit(lambda: int("s3cret"))
        transaction.on_commit(lambda: heard.append("last"))

    with caplog.at_level(logging.ERROR):
        assert run_script(hooks).state == State.SUCCEEDED
    assert heard == ["first", "last"]
    assert "ValueError" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_handler_cannot_end_the_transaction_it_is_given() -> None:
    def commit(job: JobContext) -> None:
        write(job)
        transaction.commit()

    assert run_script(commit).state == State.READY
    assert not Group.objects.exists()


@pytest.mark.parametrize("each", [scripted, scripted_detached])
@pytest.mark.parametrize("answer", [Done("kept"), Repeat(after=timedelta(days=1))])
def test_a_commit_whose_answer_is_lost_is_read_back_and_not_run_again(
    each: Any, answer: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    with script(_writing(answer)) as name:
        job_id = each.enqueue(script=name).id
        claimed = claim_one()
        lose_the_next_commit(monkeypatch, after=True)
        outcome = run(attempt_of(claimed))
        settled = pay(outcome) if isinstance(outcome, Owed) else outcome
    job = Job.objects.get(pk=job_id)
    assert isinstance(settled, Settled)
    assert (
        job.state == settled.state == (State.SUCCEEDED if isinstance(answer, Done) else State.READY)
    )
    assert not job.failures.exists()
    assert Group.objects.count() == 1
    assert claim_all() == []


def test_a_commit_that_never_arrived_is_handed_back_unspent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with script(_writing(Done())) as name:
        scripted.enqueue(script=name)
        claimed = claim_one()
        lose_the_next_commit(monkeypatch, after=False)
        outcome = run(attempt_of(claimed))
        settled = pay(outcome) if isinstance(outcome, Owed) else outcome
    assert isinstance(settled, Settled)
    assert (settled.state, settled.attempts) == (State.READY, 0)
    assert not Group.objects.exists()
    assert Failure.objects.get().code == "connection_lost"


def test_a_detached_completion_that_never_arrived_is_owed_and_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[int] = []

    def work(job: JobContext) -> Result:
        ran.append(1)
        return Done("kept", record=lambda: Group.objects.create(name="recorded"))

    with script(work) as name:
        scripted_detached.enqueue(script=name)
        claimed = claim_one()
        lose_the_next_commit(monkeypatch, after=False)
        owed = run(attempt_of(claimed))
    assert isinstance(owed, Owed)
    settled = pay(owed)
    assert isinstance(settled, Settled)
    assert (settled.state, ran) == (State.SUCCEEDED, [1])
    assert Group.objects.filter(name="recorded").count() == 1


@pytest.mark.parametrize("each", [scripted, scripted_detached])
def test_a_connection_that_is_cut_inside_the_handler_costs_no_attempt(each: Any) -> None:
    def lose(job: JobContext) -> None:
        cut()
        Group.objects.create(name="x")

    settled = run_script(lose, each)
    settled = pay(settled) if isinstance(settled, Owed) else settled
    assert (settled.state, settled.attempts) == (State.READY, 0)
    failure = Failure.objects.get()
    assert (failure.code, failure.sqlstate) == ("connection_lost", "57P01")
    assert "lose" in {frame["function"] for frame in failure.frames}


def test_a_record_that_raises_is_a_failed_attempt_of_a_detached_job() -> None:
    def work(job: JobContext) -> Result:
        def record() -> None:
            Group.objects.create(name="half")
            raise LookupError

        return Done(record=record)

    assert run_script(work, scripted_detached).state == State.READY
    assert not Group.objects.exists()
    assert Failure.objects.get().exception == "builtins.LookupError"


def test_a_detached_handler_has_no_transaction_open_and_opens_its_own() -> None:
    def work(job: JobContext) -> None:
        assert not connection.in_atomic_block
        with job.transaction():
            assert connection.in_atomic_block
            write(job)
        raise LookupError

    assert run_script(work, scripted_detached).state == State.READY
    assert Group.objects.count() == 1


def test_the_effect_key_is_the_same_over_all_attempts() -> None:
    keys: list[str] = []

    def work(job: JobContext) -> None:
        keys.append(job.effect_key)
        raise LookupError

    with script(work) as name:
        scripted_detached.enqueue(script=name)
        for _ in range(2):
            run(attempt_of(claim_one()))
            Job.objects.update(run_at=Job.objects.get().created_at)
    assert len(keys) == 2
    assert len(set(keys)) == 1


def _writing(answer: Result) -> Callable[[JobContext], Result]:
    """Writes one row in the transaction that stores the completion."""

    def work(job: JobContext) -> Result:
        if job.claimed.kind.endswith("detached"):
            record = lambda: Group.objects.create(name="recorded")  # noqa: E731
            if isinstance(answer, Done):
                return Done(answer.result, record=record)
            with job.transaction():
                record()
            return answer
        write(job)
        return answer

    return work


def test_what_lost_its_job_is_refused_by_the_server_before_the_commit_beside_it() -> None:
    with Rival() as rival:

        def lose(job: JobContext) -> None:
            write(job)
            rival.do(lambda: Job.objects.update(fence=job.claimed.fence + 1))

        assert run_script(lose) is None
    assert not Group.objects.exists()
    assert Job.objects.get().state == State.RUNNING


def test_a_block_that_a_handler_left_open_is_not_committed_with_the_settle() -> None:
    def leave_open(job: JobContext) -> None:
        write(job)
        transaction.atomic().__enter__()

    run_script(leave_open)
    assert not Group.objects.exists()
    assert Failure.objects.get().code == "transaction_left_open"
