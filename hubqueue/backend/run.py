"""The handlers of the two kinds under which background functions run: detached, the default, and transactional."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from inspect import iscoroutinefunction
from time import monotonic
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from hubqueue.api import Done, JobContext, Result, handler
from hubqueue.backend import HubQueueBackend, arguments, functions, results
from hubqueue.backend.compat import (
    AnyResult,
    AnyTask,
    TaskContext,
    TaskResultDoesNotExist,
    task_backends,
    task_finished,
    task_started,
)
from hubqueue.backend.errors import FunctionFailed
from hubqueue.conf import conf
from hubqueue.errors import TimedOut
from hubqueue.payload import Json

DETACHED, TRANSACTIONAL = results.KINDS
# Rows name their queue themselves; a handler must name one that exists.
QUEUE = conf().queues[0]
# What is stored beside the value, in bytes: braces, two names, a UUID.
ENVELOPE = 100


class Context(TaskContext):  # type: ignore[type-arg]
    """Django's context, and the attempt as hubqueue's own handlers see it.

    ``context.job`` has ``transaction()``, ``checkpoint()``, ``progress()`` and ``effect_key``.
    """

    __slots__ = ("job",)
    job: JobContext


@handler(DETACHED, detached=True, queue=QUEUE, max_attempts=1)
def detached(
    job: JobContext, *, function: str, args: list[Any], kwargs: dict[str, Any], backend: str
) -> Result:
    """Run a function outside any transaction, at least once, as Django's own backends do."""
    return _run(job, functions.find(function), args, kwargs, limit=detached.timeout)


@handler(TRANSACTIONAL, queue=QUEUE, max_attempts=1)
def transactional(
    job: JobContext, *, function: str, args: list[Any], kwargs: dict[str, Any], backend: str
) -> Result:
    """Run a function in the transaction that stores its completion: it takes effect exactly once."""
    return _run(job, functions.find(function), args, kwargs, limit=transactional.timeout)


@detached.on_abandon
@transactional.on_abandon
def tell_of_the_end(job: JobContext) -> None:
    """A job that was given up or cancelled has finished, for Django: say so after the commit."""
    transaction.on_commit(partial(_tell_end, job.id), using=job.using, robust=True)


def _run(
    job: JobContext, task: AnyTask, args: list[Any], kwargs: dict[str, Any], *, limit: timedelta
) -> Result:
    began = monotonic()
    result = results.running(job, task)
    task_started.send_robust(_sender(result), task_result=result)
    leading = (_context(job, result),) if task.takes_context else ()
    answer = _call(partial(task.func, *leading, *args, **kwargs), task.func, limit)
    value = arguments.result(answer, limit=conf().result_limit - ENVELOPE)
    tell = partial(_tell_success, result, value, began)
    return Done(
        {"value": value, "worker": result.worker_ids[-1]},
        record=partial(transaction.on_commit, tell, using=job.using, robust=True),
    )


def _call(invoke: Callable[[], Any], function: Callable[..., Any], limit: timedelta) -> Any:
    if not iscoroutinefunction(function):
        return invoke()
    return async_to_sync(_bounded)(invoke, limit)


async def _bounded(invoke: Callable[[], Any], limit: timedelta) -> Any:
    """The worker's interrupt cannot reach a loop that waits, so the loop keeps the time itself, a little shorter."""
    seconds = limit.total_seconds()
    try:
        async with asyncio.timeout(seconds - min(1.0, seconds / 10)) as clock:
            return await invoke()
    except TimeoutError:
        if clock.expired():
            raise TimedOut from None
        raise


def _context(job: JobContext, result: AnyResult) -> Context:
    context = Context(task_result=result)
    object.__setattr__(context, "job", job)
    return context


def _tell_success(result: AnyResult, value: Json, began: float) -> None:
    """Without asking the database again: the claim's moment on its clock, and the time since by ours."""
    assert result.last_attempted_at is not None
    at = result.last_attempted_at + timedelta(seconds=monotonic() - began)
    ended = results.succeeded(result, value, at=at)
    task_finished.send_robust(_sender(ended), task_result=ended)


def _tell_end(job_id: UUID) -> None:
    try:
        result = results.read(job_id)
    except TaskResultDoesNotExist:
        return  # a function this code does not have: there is nothing Django could be told about
    try:
        raise FunctionFailed(_reason(result)) from None
    except FunctionFailed as failed:
        # Django's own receiver logs the exception being handled. What the function raised may quote rows.
        failed.__context__ = None
        task_finished.send_robust(_sender(result), task_result=result)


def _reason(result: AnyResult) -> str:
    last = result.errors[-1] if result.errors else None
    return (last.traceback or last.exception_class_path) if last else "no reason is kept"


def _sender(result: AnyResult) -> type:
    """The class of the entry it was enqueued through; a job outlives an entry that was renamed."""
    try:
        return type(task_backends[result.backend])
    except ImproperlyConfigured:
        return HubQueueBackend
