"""Rows as Django's results: states, moments, errors, workers and the return value."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.utils.dateparse import parse_datetime

from hubqueue.backend import functions
from hubqueue.backend.compat import (
    AnyResult,
    AnyTask,
    InvalidTask,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
)
from hubqueue.backend.errors import Abandoned, Cancelled, UnknownFunction, WorkerDied
from hubqueue.errors import HubqueueError, TimedOut
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.database import alias as queue_alias
from hubqueue.models import Failure, Job
from hubqueue.states import State

KINDS = ("tasks.run", "tasks.run_transactional")
UNKNOWN = "unknown"

# A job that is set aside has not ended. One that was cancelled has, and not well.
STATUS = {
    State.READY: TaskResultStatus.READY,
    State.PARKED: TaskResultStatus.READY,
    State.RUNNING: TaskResultStatus.RUNNING,
    State.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    State.DEAD: TaskResultStatus.FAILED,
    State.CANCELLED: TaskResultStatus.FAILED,
}
WITHOUT_EXCEPTION: dict[str, type[BaseException]] = {
    WorkerDied.code: WorkerDied,
    TimedOut.code: TimedOut,
}


def read(result_id: str | UUID) -> AnyResult:
    """The result of that id as the rows have it now. Raises ``TaskResultDoesNotExist``.

    Also for a job whose function this code does not have: Django's result cannot be made without it.
    """
    using = queue_alias()
    try:
        job = Job.objects.using(using).get(pk=UUID(str(result_id)), kind__in=KINDS)
        function = functions.find(job.payload["function"])
    except (ValueError, Job.DoesNotExist, UnknownFunction) as missing:
        raise TaskResultDoesNotExist(str(result_id)) from missing
    return _stored(job, function, _failures(job.pk, using))


def enqueued(
    job_id: UUID,
    task: AnyTask,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    alias: str,
    at: datetime,
) -> AnyResult:
    """The result of a job that was just put there."""
    return TaskResult(
        task=task,
        id=str(job_id),
        status=TaskResultStatus.READY,
        enqueued_at=at,
        started_at=None,
        last_attempted_at=None,
        finished_at=None,
        args=list(args),
        kwargs=dict(kwargs),
        backend=alias,
        errors=[],
        worker_ids=[],
    )


def running(job: JobContext, function: AnyTask) -> AnyResult:
    """The result of the attempt that runs here. Reads the history only when there may be one."""
    claimed, payload = job.claimed, job.claimed.payload
    failures = _failures(job.id, job.using) if claimed.attempts > 1 else []
    return TaskResult(
        task=_as_enqueued(function, payload, claimed.queue, claimed.priority, claimed.meta),
        id=str(job.id),
        status=TaskResultStatus.RUNNING,
        enqueued_at=claimed.created_at,
        started_at=_first_start(failures, claimed.claimed_at),
        last_attempted_at=claimed.claimed_at,
        finished_at=None,
        args=payload["args"],
        kwargs=payload["kwargs"],
        backend=payload["backend"],
        errors=_errors(failures),
        worker_ids=_workers(failures, claimed.attempts, claimed.claimed_by),
    )


def _stored(job: Job, function: AnyTask, failures: list[Failure]) -> AnyResult:
    state, payload, stored = State(job.state), job.payload, job.result or {}
    last = stored.get("worker") if state is State.SUCCEEDED else job.claimed_by
    begun = job.attempts > 0 or bool(failures)
    result: AnyResult = TaskResult(
        task=_as_enqueued(function, payload, job.queue, job.priority, job.meta),
        id=str(job.pk),
        status=STATUS[state],
        enqueued_at=job.created_at,
        started_at=_first_start(failures, job.claimed_at) if begun else None,
        last_attempted_at=job.claimed_at if begun else None,
        finished_at=job.finished_at,
        args=payload["args"],
        kwargs=payload["kwargs"],
        backend=payload["backend"],
        errors=_errors(failures) + _errors_without_row(job, failures),
        worker_ids=_workers(failures, job.attempts, last),
    )
    object.__setattr__(result, "_return_value", stored.get("value"))
    return result


def _as_enqueued(
    function: AnyTask,
    payload: Mapping[str, Any],
    queue: str,
    priority: int,
    meta: Mapping[str, Any],
) -> AnyTask:
    """The declared function with what this request said beside its arguments.

    Settings may have changed since: a queue or an alias that is gone leaves it as it is declared.
    """
    run_after = meta.get("run_after")
    try:
        return function.using(
            priority=-priority,
            queue_name=queue,
            backend=payload["backend"],
            run_after=parse_datetime(run_after) if run_after else None,
        )
    except (InvalidTask, ImproperlyConfigured):
        return function


def _failures(job_id: UUID, using: str) -> list[Failure]:
    return list(Failure.objects.using(using).filter(job_id=job_id).order_by("id"))


def _first_start(failures: Sequence[Failure], last: datetime | None) -> datetime | None:
    starts = [each.started_at for each in failures if each.started_at is not None]
    return min([*starts, *([last] if last else [])], default=None)


def _workers(failures: Sequence[Failure], attempts: int, last: UUID | str | None) -> list[str]:
    """One id per attempt, since Django counts attempts by them; what is not kept any more is ``unknown``."""
    by_attempt: dict[int, UUID | str | None] = {
        each.attempt: each.worker for each in failures if each.spent
    }
    if last is not None:
        by_attempt[attempts] = last
    return [str(by_attempt.get(number) or UNKNOWN) for number in range(1, attempts + 1)]


def _errors(failures: Sequence[Failure]) -> list[TaskError]:
    """What attempts raised, oldest first. An attempt that did not count (a lost connection) is none."""
    return [
        TaskError(
            exception_class_path=each.exception
            or _path(WITHOUT_EXCEPTION.get(each.code, HubqueueError)),
            traceback=_traceback(each),
        )
        for each in failures
        if each.spent and each.code != "abandon_failed"
    ]


def _errors_without_row(job: Job, failures: Sequence[Failure]) -> list[TaskError]:
    """A failed result says why, also when no attempt did: it was cancelled, or the history was purged."""
    if job.state == State.CANCELLED:
        return [TaskError(exception_class_path=_path(Cancelled), traceback="")]
    if job.state == State.DEAD and not any(each.spent for each in failures):
        why = f"code {job.error_code}\n" if job.error_code else ""
        return [TaskError(exception_class_path=_path(Abandoned), traceback=why)]
    return []


def _traceback(failure: Failure) -> str:
    """The form of a traceback, from what is kept: places, class, code and constraint, no values."""
    lines = ["Traceback (most recent call last):"] if failure.frames else []
    lines += [
        f'  File "{frame["file"]}", line {frame["line"]}, in {frame["function"]}'
        for frame in failure.frames
    ]
    marks = {"code": failure.code, "SQLSTATE": failure.sqlstate, "constraint": failure.constraint}
    said = ", ".join(f"{name} {value}" for name, value in marks.items() if value)
    raised = failure.exception or _path(WITHOUT_EXCEPTION.get(failure.code, HubqueueError))
    lines.append(f"{raised}: {failure.message}" if failure.message else raised)
    return "\n".join([*lines, f"({said})", ""])


def _path(exception: type[BaseException]) -> str:
    return f"{exception.__module__}.{exception.__qualname__}"
