"""Run one handler by itself and look at its answer."""

from typing import Any

from django.db import transaction
from msgspec.structs import replace

from hubqueue.conf import conf
from hubqueue.ids import uuid7
from hubqueue.lifecycle.claim import Lane, claim
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.enqueue import Request, enqueue
from hubqueue.lifecycle.guard import Claimed
from hubqueue.models import Job
from hubqueue.registry import Handler
from hubqueue.results import Done, Result
from hubqueue.testing import nested


def perform(
    handler: Handler[...],
    /,
    *,
    tenant: object | None = None,
    attempt: int = 1,
    **arguments: Any,
) -> Result:
    """Run ``handler`` once and answer its result; ``None`` is answered as ``Done()``.

    The arguments take the way through JSON, as in production. What the handler raises is raised, and a
    transactional handler's writes are rolled back then. The job exists while the handler runs, so that
    ``job.transaction()`` and ``job.hold()`` work, and is gone afterwards. ``Done.record`` is not called.
    """
    using = alias()
    claimed = _claimed(handler, tenant, arguments, using)
    try:
        decoded = handler.signature.decode(claimed.payload)
        job = JobContext(replace(claimed, attempts=attempt), using, handler.detached)
        answer = _call(handler, job, decoded, using)
    finally:
        if nested.usable(using):
            Job.objects.using(using).filter(pk=claimed.id).delete()
    return Done() if answer is None else answer


def _claimed(
    handler: Handler[...], tenant: object | None, arguments: dict[str, Any], using: str
) -> Claimed:
    """A real job, claimed out of a queue of its own."""
    aside = f"perform-{uuid7()}"
    enqueue(
        Request(
            kind=handler.kind,
            queue=aside,
            payload=handler.signature.encode(arguments, limit=conf().payload_limit),
            max_attempts=handler.max_attempts,
            tenant=None if tenant is None else str(tenant),
        )
    )
    found = claim(uuid7(), [Lane(aside, 1)], [1], 1, [handler.kind], using=using)
    if not found:
        Job.objects.using(using).filter(queue=aside).delete()
        raise AssertionError(f"{handler.kind} cannot be claimed: is it, or its tenant, paused?")
    return replace(found[0], queue=handler.queue)


def _call(
    handler: Handler[...], job: JobContext, decoded: dict[str, Any], using: str
) -> Result | None:
    inside = nested.is_nested(using)

    def call() -> Result | None:
        return handler.function(job, **decoded)

    if handler.detached:
        return nested.checked(call, detached=True, using=using) if inside else call()
    with transaction.atomic(using=using):
        return nested.checked(call, detached=False, using=using)
