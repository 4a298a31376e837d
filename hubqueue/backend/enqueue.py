"""Put a background function into the queue, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from hubqueue.backend import arguments, functions, results, run
from hubqueue.backend.compat import AnyResult, AnyTask, BaseTaskBackend, task_enqueued
from hubqueue.backend.options import Options
from hubqueue.conf import conf
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.enqueue import Request, enqueue
from hubqueue.payload import dump


def put(
    backend: BaseTaskBackend,
    options: Options,
    task: AnyTask,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> AnyResult:
    """One statement, then a READY result. ``task_enqueued`` is sent when the transaction has committed.

    Its ``enqueued_at`` is this process's clock until ``refresh()``, which reads the database's.
    """
    functions.check_path(task)
    plain_args, plain_kwargs = arguments.encode(task, args, kwargs)
    run_at = _aware(task.run_after)
    meta = {"function": task.module_path}
    if run_at is not None:
        meta["run_after"] = run_at.isoformat()
    answer = enqueue(
        Request(
            kind=(run.transactional if options.transactional else run.detached).kind,
            queue=task.queue_name,
            payload=dump(
                {
                    "function": task.module_path,
                    "args": plain_args,
                    "kwargs": plain_kwargs,
                    "backend": backend.alias,
                },
                "arguments",
                limit=conf().payload_limit,
            ),
            max_attempts=options.max_attempts,
            priority=-int(task.priority),
            run_at=run_at,
            meta=meta,
        )
    )
    result = results.enqueued(
        answer.id, task, plain_args, plain_kwargs, alias=backend.alias, at=timezone.now()
    )
    transaction.on_commit(
        partial(task_enqueued.send_robust, type(backend), task_result=result),
        using=alias(),
        robust=True,
    )
    return result


def _aware(moment: datetime | None) -> datetime | None:
    """Without USE_TZ, Django's moments are naive and mean the time zone of the settings."""
    if moment is None or timezone.is_aware(moment):
        return moment
    return timezone.make_aware(moment, timezone.get_default_timezone())
