"""run_due_jobs: what a Django test sees of its jobs."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import IntegrityError, connection, transaction
from django.test import TestCase, TransactionTestCase

from hubqueue.api import Dead, Done, JobContext, LeaseLost, Park, Repeat, Result, Retry
from hubqueue.models import Failure, Job, Worker
from hubqueue.states import State
from hubqueue.testing import move_clock, run_due_jobs, steal_lease
from tests.support.handlers import mailed, script, scripted, scripted_detached


class InTestCase(TestCase):
    """Everything happens in savepoints of the test's own transaction."""

    def script(self, function: object) -> str:
        return self.enterContext(script(function))

    def test_runs_through_the_real_lifecycle_and_reports_by_kind_and_state(self) -> None:
        answer = mailed.enqueue(to="crew", copies=["a", "b"])

        report = run_due_jobs()

        job = Job.objects.get(pk=answer.id)
        assert (job.state, job.attempts, job.result) == (State.SUCCEEDED, 1, {"copies": 2})
        assert job.fence > 0
        assert Group.objects.filter(name="crew").exists()
        assert report.settled == {("sample.mailed", State.SUCCEEDED): 1}
        assert not report.failures
        assert not Worker.objects.exists()

    def test_runs_until_nothing_is_due_with_what_the_jobs_enqueue(self) -> None:
        name = self.script(lambda job: mailed.enqueue(to="next") and None)
        scripted.enqueue(script=name)

        report = run_due_jobs()

        assert [run.kind for run in report.runs] == ["sample.scripted", "sample.mailed"]

    def test_leaves_what_is_not_due(self) -> None:
        scripted.using(run_at=_in(hours=1)).enqueue()
        assert len(run_due_jobs()) == 0
        with move_clock(timedelta(hours=2)):
            assert len(run_due_jobs()) == 1

    def test_takes_only_the_kinds_and_queues_asked_for(self) -> None:
        scripted.enqueue()
        mailed.enqueue(to="x")
        assert [run.kind for run in run_due_jobs(kinds=[mailed]).runs] == ["sample.mailed"]
        assert len(run_due_jobs(queues=["mail"])) == 0
        assert len(run_due_jobs(kinds=["sample.scripted"], queues=["default"])) == 1

    def test_a_failing_handler_leaves_nothing_and_is_recorded_like_a_real_attempt(self) -> None:
        def fail(job: JobContext) -> None:
            Group.objects.create(name="half")
            raise KeyError("secret")

        job_id = scripted.enqueue(script=self.script(fail)).id

        report = run_due_jobs()

        job = Job.objects.get(pk=job_id)
        assert (job.state, job.attempts, job.error_code) == (State.READY, 1, "exception")
        assert not Group.objects.filter(name="half").exists()
        assert Failure.objects.get(job=job).exception == "builtins.KeyError"
        assert [run.code for run in report.failures] == ["exception"]
        assert isinstance(report.failures[0].error, KeyError)

    def test_a_retry_waits_for_its_whole_backoff_so_that_no_run_depends_on_chance(self) -> None:
        job_id = scripted.enqueue(script=self.script(lambda job: 1 / 0)).id
        assert len(run_due_jobs()) == 1
        with move_clock(scripted.backoff.ceiling(1) - timedelta(seconds=1)):
            assert len(run_due_jobs()) == 0
        with move_clock(scripted.backoff.ceiling(1)):
            assert len(run_due_jobs()) == 1
        with move_clock(timedelta(days=1)):
            assert [run.state for run in run_due_jobs().runs] == [State.DEAD]
        assert Job.objects.get(pk=job_id).attempts == 3

    def test_raises_what_a_handler_raised_when_asked_to_and_records_it_all_the_same(self) -> None:
        job_id = scripted.enqueue(script=self.script(lambda job: 1 / 0)).id
        with pytest.raises(ZeroDivisionError):
            run_due_jobs(raise_failures=True)
        assert Job.objects.get(pk=job_id).error_code == "exception"
        assert not Worker.objects.exists()

    def test_a_swallowed_database_error_fails_the_attempt(self) -> None:
        def swallow(job: JobContext) -> Result:
            Group.objects.create(name="half")
            try:
                Group.objects.create(name="half")
            except IntegrityError:
                pass
            return Done()

        job_id = scripted.enqueue(script=self.script(swallow)).id
        report = run_due_jobs()
        assert report.failures[0].state == State.READY
        assert not Group.objects.filter(name="half").exists()
        assert Job.objects.get(pk=job_id).attempts == 1

    def test_a_deferred_constraint_fails_the_attempt_that_broke_it(self) -> None:
        job_id = scripted.enqueue(
            script=self.script(
                lambda job: Permission.objects.create(content_type_id=0, codename="x") and None
            )
        ).id
        report = run_due_jobs()
        assert report.failures[0].code == "database_error"
        assert "content_type" in Failure.objects.get(job_id=job_id).constraint

    def test_a_detached_handler_may_break_a_statement_outside_atomic(self) -> None:
        Group.objects.create(name="taken")
        job_id = scripted_detached.enqueue(
            script=self.script(lambda job: Group.objects.create(name="taken") and None)
        ).id
        report = run_due_jobs()
        assert report.failures[0].code == "database_error"
        assert Failure.objects.get(job_id=job_id).sqlstate == "23505"

    def test_hooks_after_commit_run_with_their_job_and_the_tests_own_stay(self) -> None:
        heard: list[str] = []

        def both(job: JobContext) -> None:
            transaction.on_commit(lambda: 1 / 0)
            transaction.on_commit(lambda: heard.append("job"))

        def fails(job: JobContext) -> None:
            transaction.on_commit(lambda: heard.append("never"))
            raise RuntimeError

        with self.captureOnCommitCallbacks() as captured:
            transaction.on_commit(lambda: heard.append("test"))
            scripted.enqueue(script=self.script(both))
            scripted.enqueue(script=self.script(fails))
            run_due_jobs()
        assert heard == ["job"]
        for callback in captured:
            callback()
        assert heard == ["job", "test"]

    def test_a_hook_of_the_test_that_raises_still_raises(self) -> None:
        with self.captureOnCommitCallbacks() as captured:
            transaction.on_commit(lambda: 1 / 0)
            scripted.enqueue()
            run_due_jobs()
        with pytest.raises(ZeroDivisionError):
            captured[0]()

    def test_works_inside_capture_on_commit_callbacks_that_execute(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            transaction.on_commit(lambda: mailed.enqueue(to="hooked"))
        assert run_due_jobs().settled == {("sample.mailed", State.SUCCEEDED): 1}

    def test_jobs_of_a_rolled_back_block_are_gone(self) -> None:
        with transaction.atomic():
            mailed.enqueue(to="x")
            transaction.set_rollback(True)
        assert len(run_due_jobs()) == 0

    def test_changing_a_list_after_enqueue_changes_nothing(self) -> None:
        copies = ["a"]
        job_id = mailed.enqueue(to="x", copies=copies).id
        copies.append("b")
        run_due_jobs()
        assert Job.objects.get(pk=job_id).result == {"copies": 1}

    def test_every_answer_ends_where_it_ends_in_production(self) -> None:
        answers: dict[Result, State] = {
            Done(): State.SUCCEEDED,
            Repeat(after=timedelta(hours=1)): State.READY,
            Retry(after=timedelta(hours=1), code="later"): State.READY,
            Dead(code="no"): State.DEAD,
            Park(reason="look"): State.PARKED,
        }
        for answer, state in answers.items():
            for each in (scripted, scripted_detached):
                each.enqueue(script=self.script(lambda job, answer=answer: answer))
                assert [run.state for run in run_due_jobs().runs] == [state]

    def test_an_endless_job_is_refused_after_the_limit(self) -> None:
        name = self.script(lambda job: Repeat(after=timedelta(0)))
        scripted.enqueue(script=name)
        with pytest.raises(AssertionError, match=r"sample\.scripted still due after 7 attempts"):
            run_due_jobs(limit=7)

    def test_a_stolen_lease_undoes_a_transactional_attempt(self) -> None:
        def write(job: JobContext) -> None:
            Group.objects.create(name="zombie")
            steal_lease(job)

        job_id = scripted.enqueue(script=self.script(write)).id
        report = run_due_jobs()
        assert report.runs[0].state is None
        assert report.failures == report.runs
        assert not Group.objects.filter(name="zombie").exists()
        assert Job.objects.get(pk=job_id).state == State.RUNNING

    def test_a_stolen_lease_refuses_the_next_write_of_a_detached_attempt(self) -> None:
        seen: list[type] = []

        def write(job: JobContext) -> Result:
            steal_lease(job)
            with pytest.raises(LeaseLost) as caught, job.transaction():
                Group.objects.create(name="zombie")
            seen.append(caught.type)
            return Done(record=lambda: Group.objects.create(name="zombie"))

        scripted_detached.enqueue(script=self.script(write))
        assert run_due_jobs().runs[0].state is None
        assert seen == [LeaseLost]
        assert not Group.objects.filter(name="zombie").exists()

    def test_the_connection_is_still_the_tests_own_after_all_of_it(self) -> None:
        Group.objects.create(name="before")
        for function in (lambda job: steal_lease(job), lambda job: 1 / 0):
            scripted.enqueue(script=self.script(function))
        run_due_jobs()
        assert Group.objects.filter(name="before").exists()


class InTransactionTestCase(TransactionTestCase):
    """Everything commits."""

    def test_runs_and_commits(self) -> None:
        mailed.enqueue(to="crew")
        assert run_due_jobs().settled == {("sample.mailed", State.SUCCEEDED): 1}
        assert not connection.in_atomic_block
        assert Group.objects.filter(name="crew").exists()

    def test_a_failure_at_commit_is_the_attempts_failure(self) -> None:
        def dangle(job: JobContext) -> None:
            Permission.objects.create(content_type_id=0, codename="x")

        with script(dangle) as name:
            scripted.enqueue(script=name)
            report = run_due_jobs()
        assert report.failures[0].code == "database_error"

    def test_a_stolen_lease_is_lost(self) -> None:
        with script(lambda job: steal_lease(job)) as name:
            scripted_detached.enqueue(script=name)
            assert run_due_jobs().runs[0].state is None


@pytest.mark.django_db
@pytest.mark.parametrize("time", [1, 2])
def test_nothing_is_left_to_the_next_test(time: int) -> None:
    assert not Job.objects.exists()
    mailed.enqueue(to="same name")
    assert len(run_due_jobs()) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", [1, 2])
def test_nothing_is_left_to_the_next_committing_test(time: int) -> None:
    assert not Job.objects.exists()
    mailed.enqueue(to="same name")
    assert len(run_due_jobs()) == 1


def _in(**span: float) -> object:
    from django.utils import timezone

    return timezone.now() + timedelta(**span)
