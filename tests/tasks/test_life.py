"""The life of a job as Django's result shows it: order, delay, attempts, officers, dead workers."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from hubqueue import officers
from hubqueue.backend import run
from hubqueue.backend.compat import TaskResultDoesNotExist, task_finished
from hubqueue.backend.errors import Abandoned, Cancelled, ResultRefused, WorkerDied
from hubqueue.errors import TimedOut
from hubqueue.ids import uuid7
from hubqueue.lifecycle.claim import Lane, claim
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.rescue import rescue
from hubqueue.models import Failure, Job
from hubqueue.policy import Backoff
from hubqueue.states import State
from hubqueue.testing import move_clock, run_due_jobs
from tests.tasks import functions
from tests.tasks.conftest import OURS, Stage, on
from tests.tasks.framework import default_task_backend
from tests.tasks.functions import Refused

Use = Callable[..., None]
BY = {"actor": "an officer", "reason": "a test"}


@OURS
def test_a_higher_priority_runs_first(stage: Stage) -> None:
    for word, priority in (("low", -100), ("middle", 0), ("high", 100), ("above", 1)):
        functions.see.using(priority=priority).enqueue(word)
    run_due_jobs()
    assert functions.SEEN == ["high", "above", "middle", "low"]


@OURS
def test_a_deferred_function_runs_when_its_moment_has_come(stage: Stage) -> None:
    moment = timezone.now() + timedelta(hours=1)
    result = functions.see.using(run_after=moment).enqueue("later")
    assert len(run_due_jobs()) == 0

    with move_clock(timedelta(hours=1, seconds=1)):
        assert stage.settled(result).status == "SUCCESSFUL"
    assert functions.see.get_result(result.id).task.run_after == moment


def test_a_naive_moment_is_local_time_without_time_zones(use: Use, settings: Any) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = "Europe/Berlin"
    use()
    from hubqueue.backend.enqueue import _aware

    moment = timezone.datetime(2030, 7, 1, 12)  # type: ignore[attr-defined]
    assert str(_aware(moment)) == "2030-07-01 12:00:00+02:00"


def test_a_function_is_put_into_the_queue_it_names(use: Use) -> None:
    use(QUEUES=["default", "mail"])
    result = functions.nothing.using(queue_name="mail").enqueue()
    assert Job.objects.get().queue == "mail"
    assert functions.nothing.get_result(result.id).task.queue_name == "mail"


@OURS
def test_a_function_that_raises_is_not_tried_again_by_default(stage: Stage) -> None:
    result = stage.settled(functions.fail.enqueue())
    assert result.status == "FAILED"
    assert Job.objects.get().state == State.DEAD
    with move_clock(timedelta(days=1)):
        assert len(run_due_jobs()) == 0


@pytest.mark.parametrize("transactional", [False, True])
def test_with_more_attempts_it_is_ready_again_until_it_succeeds(
    use: Use, told: list[Any], transactional: bool
) -> None:
    use(OPTIONS={"max_attempts": 3, "transactional": transactional})
    result = functions.fail_at_first.enqueue()
    run_due_jobs()

    result.refresh()
    assert (result.status, result.attempts, result.finished_at) == ("READY", 1, None)
    assert [each.exception_class for each in result.errors] == [Refused]
    first = result.started_at

    with move_clock(timedelta(hours=1)):
        run_due_jobs()
        result.refresh()
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", 2, 2)
    assert [each.exception_class for each in result.errors] == [Refused]
    assert [(1, []), (2, [Refused])] == functions.SEEN
    assert len(set(result.worker_ids)) == 2
    assert result.started_at == first < result.last_attempted_at
    assert [name for name, _, _ in told] == ["enqueued", "started", "started", "finished"]


def test_the_last_attempt_fails_for_good_and_tells_it_once(use: Use, told: list[Any]) -> None:
    use(OPTIONS={"max_attempts": 2})
    result = functions.fail.enqueue()
    run_due_jobs()
    Group.objects.all().delete()
    with move_clock(timedelta(hours=1)):
        run_due_jobs()
    result.refresh()
    assert (result.status, result.attempts, len(result.errors)) == ("FAILED", 2, 2)
    assert [status for name, _, status in told if name == "finished"] == ["FAILED"]


@OURS
def test_no_message_is_stored_shown_or_logged(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        result = stage.settled(functions.fail.enqueue("s3cret"))
    (error,) = result.errors
    assert "s3cret" not in error.traceback
    assert "s3cret" not in str(Failure.objects.values())
    lines = [
        logging.Formatter().format(each)
        for each in caplog.records
        if not each.name.startswith("django.db")
    ]
    assert not [line for line in lines if "s3cret" in line]
    (told,) = [line for line in lines if "state=FAILED" in line]
    assert "tests.tasks.functions.Refused\n(code exception)" in told
    assert "in fail" in told


@OURS
def test_an_answer_above_the_limit_is_a_failure_and_not_another_answer(stage: Stage) -> None:
    result = stage.settled(functions.long_answer.enqueue())
    assert result.status == "FAILED"
    assert result.errors[0].exception_class is ResultRefused
    assert "code result_refused" in result.errors[0].traceback


@OURS
def test_a_cancelled_function_has_failed_and_says_so(stage: Stage, told: list[Any]) -> None:
    result = functions.see.enqueue("never")
    officers.cancel(Job.objects.get().pk, **BY)
    result.refresh()
    assert (result.status, result.attempts) == ("FAILED", 0)
    assert [each.exception_class for each in result.errors] == [Cancelled]
    assert [(name, status) for name, _, status in told][1:] == [("finished", "FAILED")]
    assert len(run_due_jobs()) == 0


@OURS
def test_a_parked_function_is_still_to_run(stage: Stage) -> None:
    result = functions.see.enqueue("at last")
    officers.park(Job.objects.get().pk, **BY)
    assert stage.settled(result).status == "READY"
    officers.release(Job.objects.get().pk, **BY)
    assert stage.settled(result).status == "SUCCESSFUL"


@OURS
def test_a_redriven_function_is_ready_again_and_keeps_what_it_raised(stage: Stage) -> None:
    result = stage.settled(functions.fail_at_first.enqueue())
    officers.redrive(Job.objects.get().pk, **BY)
    result.refresh()
    assert (result.status, result.attempts, result.finished_at) == ("READY", 0, None)
    assert [each.exception_class for each in result.errors] == [Refused]


@on("hubqueue")
def test_a_function_whose_workers_die_has_failed_with_that(stage: Stage) -> None:
    result = functions.see.enqueue("deadly")
    worker = uuid7()
    (claimed,) = claim(worker, [Lane("default", 1)], [1], 1, [run.DETACHED], using=alias())
    result.refresh()
    assert (result.status, result.worker_ids) == ("RUNNING", [str(worker)])

    rescue(worker, cause="session", alone=True, using=alias())
    result = stage.settled(result)
    assert (result.status, result.worker_ids) == ("FAILED", [str(worker)])
    assert [each.exception_class for each in result.errors] == [WorkerDied]
    assert functions.SEEN == []


@on("hubqueue")
def test_a_failed_result_says_why_when_its_history_is_gone(stage: Stage) -> None:
    result = stage.settled(functions.fail.enqueue())
    Failure.objects.all().delete()
    result.refresh()
    assert [each.exception_class for each in result.errors] == [Abandoned]
    assert result.errors[0].traceback == "code exception\n"
    assert result.worker_ids == ["unknown"]


@OURS
def test_a_function_that_is_gone_becomes_a_dead_letter_of_its_own_code(
    stage: Stage, told: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = functions.see.enqueue("gone")
    with monkeypatch.context() as patch:
        patch.delattr(functions, "see")
        run_due_jobs()
        with pytest.raises(TaskResultDoesNotExist):
            default_task_backend.get_result(result.id)
    assert list(officers.find_dead(code="unknown_function")) == [Job.objects.get().pk]
    officers.redrive(Job.objects.get().pk, **BY)
    assert stage.settled(result).status == "SUCCESSFUL"


@OURS
def test_what_is_no_declared_function_is_never_called(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions.see.enqueue("called")
    monkeypatch.setattr(functions, "see", functions.see.func)
    run_due_jobs()
    assert functions.SEEN == []
    assert Job.objects.get().error_code == "unknown_function"


@OURS
def test_a_waiting_coroutine_ends_with_its_timeout(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (run.detached, run.transactional):
        monkeypatch.setattr(each, "_timeout", timedelta(seconds=0.2))
    result = stage.settled(functions.wait_for_ever.enqueue())
    assert result.errors[0].exception_class is TimedOut
    assert Job.objects.get().error_code == "timeout"


@OURS
def test_a_timeout_of_the_functions_own_is_what_it_raised(stage: Stage) -> None:
    result = stage.settled(functions.raise_own_timeout.enqueue())
    assert result.errors[0].exception_class is TimeoutError


@OURS
def test_a_result_outlives_the_queue_it_was_put_into(stage: Stage, use: Use) -> None:
    use(stage.name, QUEUES=["default", "mail"])
    result = functions.add.using(queue_name="mail").enqueue(1)
    use(stage.name)
    assert functions.add.get_result(result.id).status == "READY"


def test_a_job_outlives_the_entry_it_was_enqueued_through(settings: Any) -> None:
    ours = {"BACKEND": "hubqueue.backend.HubQueueBackend"}
    settings.TASKS = {"default": ours, "former": ours}
    result = functions.add.using(backend="former").enqueue(1)
    settings.TASKS = {"default": ours}
    run_due_jobs()
    again = functions.add.get_result(result.id)
    assert (again.status, again.return_value, again.backend) == ("SUCCESSFUL", 2, "former")


@OURS
def test_the_end_is_told_with_the_answer_and_about_the_moment_that_is_stored(stage: Stage) -> None:
    heard: list[Any] = []

    def hear(task_result: Any, **kwargs: Any) -> None:
        heard.append(task_result)

    task_finished.connect(hear)
    try:
        result = stage.settled(functions.add.enqueue(1))
    finally:
        task_finished.disconnect(hear)
    (told,) = heard
    assert (told.return_value, told.worker_ids, told.is_finished) == (2, result.worker_ids, True)
    assert told.started_at == result.started_at
    assert abs(told.finished_at - result.finished_at) < timedelta(seconds=5)


def test_the_backoff_between_attempts_is_the_queues_own() -> None:
    assert run.detached.backoff == Backoff()


def test_a_job_of_another_kind_is_no_result(use: Use) -> None:
    from tests.support.handlers import mailed

    use()
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(str(mailed.enqueue(to="x").id))
