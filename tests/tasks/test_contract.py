"""What Django promises of every backend, held by hubqueue as by Django's own."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from hubqueue.backend.compat import (
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
)
from tests.tasks import functions
from tests.tasks.conftest import EVERY, RUNNING, STORING, Stage
from tests.tasks.framework import TaskResultMismatch, default_task_backend, task
from tests.tasks.functions import Refused

READY, FAILED, SUCCESSFUL = (
    TaskResultStatus.READY,
    TaskResultStatus.FAILED,
    TaskResultStatus.SUCCESSFUL,
)


@STORING
def test_an_enqueued_function_is_ready_and_nothing_has_happened_to_it(stage: Stage) -> None:
    before = timezone.now()
    result = functions.add.enqueue(1, other=2)

    assert result.status == READY
    assert before <= result.enqueued_at <= timezone.now()
    assert (result.started_at, result.last_attempted_at, result.finished_at) == (None, None, None)
    assert (result.args, result.kwargs, result.backend) == ([1], {"other": 2}, "default")
    assert (result.errors, result.worker_ids, result.attempts) == ([], [], 0)
    assert result.is_finished is False
    with pytest.raises(ValueError, match="Task has not finished yet"):
        _ = result.return_value


@STORING
def test_what_was_enqueued_can_be_read_back(stage: Stage) -> None:
    result = functions.add.using(priority=7).enqueue(1, other=2)
    again = functions.add.get_result(result.id)

    assert again.id == result.id
    assert again.task == functions.add.using(priority=7)
    assert (again.args, again.kwargs, again.status) == ([1], {"other": 2}, READY)
    assert async_to_sync(functions.add.aget_result)(result.id).id == result.id


@STORING
def test_a_result_of_another_function_is_a_mismatch(stage: Stage) -> None:
    result = functions.add.enqueue(1)
    with pytest.raises(TaskResultMismatch):
        functions.echo.get_result(result.id)
    with pytest.raises(TaskResultMismatch):
        async_to_sync(functions.echo.aget_result)(result.id)


@STORING
@pytest.mark.parametrize("given", ["", "123", "0198c5a0-0000-7000-8000-000000000000"])
def test_an_unknown_result_does_not_exist(stage: Stage, given: str) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(given)
    with pytest.raises(TaskResultDoesNotExist):
        async_to_sync(default_task_backend.aget_result)(given)


@RUNNING
def test_a_function_that_returns_is_successful(stage: Stage) -> None:
    result = stage.settled(functions.add.enqueue(1, other=2))

    assert (result.status, result.return_value, result.errors) == (SUCCESSFUL, 3, [])
    assert result.is_finished is True
    assert result.attempts == len(result.worker_ids) == 1
    assert result.started_at == result.last_attempted_at
    assert result.enqueued_at <= result.started_at <= result.finished_at


@RUNNING
def test_a_function_may_return_nothing(stage: Stage) -> None:
    result = stage.settled(functions.nothing.enqueue())
    assert (result.status, result.return_value) == (SUCCESSFUL, None)


@RUNNING
def test_a_function_that_raises_has_failed_with_class_and_place(stage: Stage) -> None:
    result = stage.settled(functions.fail.enqueue())

    assert (result.status, result.is_finished, result.attempts) == (FAILED, True, 1)
    (error,) = result.errors
    assert error.exception_class is Refused
    assert error.exception_class_path == "tests.tasks.functions.Refused"
    assert error.traceback.startswith("Traceback (most recent call last):\n")
    assert 'tests/tasks/functions.py", line' in error.traceback
    assert "in fail" in error.traceback
    assert result.finished_at is not None
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


@RUNNING
def test_an_answer_that_is_not_json_is_a_failure(stage: Stage) -> None:
    result = stage.settled(functions.unstorable.enqueue())
    assert result.status == FAILED
    assert issubclass(result.errors[0].exception_class, TypeError)


@EVERY
def test_a_coroutine_function_can_be_enqueued_and_runs(stage: Stage) -> None:
    result = stage.settled(functions.add_async.enqueue(1))
    if stage.runs:
        assert (result.status, result.return_value) == (SUCCESSFUL, 2)
    else:
        assert result.status == READY


@EVERY
def test_enqueue_can_be_awaited(stage: Stage) -> None:
    result = stage.settled(async_to_sync(functions.add.aenqueue)(4))
    if stage.runs:
        assert result.return_value == 5
    else:
        assert (result.args, result.status) == ([4], READY)


@RUNNING
def test_the_context_tells_attempt_and_result(stage: Stage) -> None:
    result = stage.settled(functions.tell_context.enqueue("hello"))
    assert result.return_value == {
        "attempt": 1,
        "id": result.id,
        "word": "hello",
        "args": ["hello"],
        "path": "tests.tasks.functions.tell_context",
        "status": "RUNNING",
    }


class Safe(str):
    __slots__ = ()


@EVERY
def test_arguments_become_json_values(stage: Stage) -> None:
    result = functions.echo.enqueue((1, 2.5), {"a": [None, True]}, b"text", word=Safe("safe"))
    assert result.args == [[1, 2.5], {"a": [None, True]}, "text"]
    assert result.kwargs == {"word": "safe"}
    if stage.runs:
        result = stage.settled(result)
        assert result.return_value == {"args": result.args, "kwargs": result.kwargs}


@EVERY
@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), {1, 2}, object(), Refused])
def test_arguments_that_are_not_json_are_a_type_error(stage: Stage, value: object) -> None:
    with pytest.raises(TypeError):
        functions.echo.enqueue(value)
    with pytest.raises(TypeError):
        functions.echo.enqueue(nested=[{"in": value}])


@EVERY
@pytest.mark.parametrize("priority", [-100, -1, 1, 100])
def test_every_priority_django_knows_is_taken(stage: Stage, priority: int) -> None:
    assert functions.nothing.using(priority=priority).enqueue().task.priority == priority


@EVERY
@pytest.mark.parametrize("priority", [-101, 101, 1.5])
def test_a_priority_django_does_not_know_is_refused(stage: Stage, priority: Any) -> None:
    with pytest.raises(InvalidTask):
        functions.nothing.using(priority=priority)


@EVERY
def test_a_queue_outside_of_queues_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidTask):
        functions.nothing.using(queue_name="nowhere")


@EVERY
def test_only_functions_at_module_level_are_taken(stage: Stage) -> None:
    def local() -> None: ...

    with pytest.raises(InvalidTask):
        task(local)
    with pytest.raises(InvalidTask):
        task(lambda: None)


@EVERY
def test_a_function_that_takes_the_context_has_it_first(stage: Stage) -> None:
    with pytest.raises(InvalidTask):
        task(takes_context=True)(functions.add.func)


@EVERY
def test_a_naive_moment_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidTask):
        functions.nothing.using(run_after=datetime(2030, 1, 1))  # noqa: DTZ001


@STORING
def test_a_later_moment_is_kept(stage: Stage) -> None:
    moment = timezone.now() + timedelta(hours=1)
    result = functions.nothing.using(run_after=moment).enqueue()
    assert functions.nothing.get_result(result.id).task.run_after == moment


@RUNNING
def test_signals_tell_what_happens_in_order(stage: Stage, told: list[Any]) -> None:
    stage.settled(functions.nothing.enqueue())
    kind = type(functions.nothing.get_backend())
    # Immediate's result is one object that has changed by now; what counts is each moment's own.
    assert told == [
        ("enqueued", kind, "READY"),
        ("started", kind, "RUNNING"),
        ("finished", kind, "SUCCESSFUL"),
    ]


@RUNNING
def test_signals_tell_of_a_failure(stage: Stage, told: list[Any]) -> None:
    stage.settled(functions.fail.enqueue())
    assert [(name, status) for name, _, status in told] == [
        ("enqueued", "READY"),
        ("started", "RUNNING"),
        ("finished", "FAILED"),
    ]


@EVERY
def test_a_sound_entry_passes_the_checks(stage: Stage) -> None:
    assert list(default_task_backend.check()) == []


def test_hubqueue_supports_everything_there_is(stage: Stage) -> None:
    backend = task_backends["default"]
    features = [name for name in dir(backend) if name.startswith("supports_")]
    assert len(features) == 4
    assert all(getattr(backend, name) for name in features)
