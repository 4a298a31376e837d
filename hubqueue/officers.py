"""Officers' verbs as functions: what the admin and ``manage.py hubqueue`` call.

Every verb takes who acts and why, refuses with ``MoveRefused`` (a code and a sentence), and leaves an
``Operation`` entry. The state answered is where the job stands afterwards: RUNNING = it was asked to stop.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

from hubqueue.errors import MoveRefused
from hubqueue.lifecycle import operate, restored
from hubqueue.lifecycle import pause as pausing
from hubqueue.lifecycle import redrive as redriving
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.redrive import Answer
from hubqueue.lifecycle.work import Reopen, abandon_of, reopen_of
from hubqueue.models import Job, Pause
from hubqueue.registry import registry
from hubqueue.states import Move, State


def park(job_id: UUID, *, actor: str, reason: str) -> State:
    return operate.park(job_id, actor=actor, reason=reason, using=alias())


def release(job_id: UUID, *, actor: str, reason: str) -> State:
    return operate.release(job_id, actor=actor, reason=reason, using=alias())


def run_now(job_id: UUID, *, actor: str, reason: str) -> State:
    return operate.run_now(job_id, actor=actor, reason=reason, using=alias())


def cancel(job_id: UUID, *, actor: str, reason: str) -> State:
    using = alias()
    kind = Job.objects.using(using).filter(pk=job_id).values_list("kind", flat=True).first()
    abandon = abandon_of(registry.find(kind), using=using) if kind else None
    return operate.cancel(job_id, actor=actor, reason=reason, using=using, abandon=abandon)


def redrive(job_id: UUID, *, actor: str, reason: str) -> State:
    kind = Job.objects.using(alias()).filter(pk=job_id).values_list("kind", flat=True).first()
    reopen = _reopen_of(kind) if kind else None
    return operate.redrive(job_id, actor=actor, reason=reason, using=alias(), reopen=reopen)


def dismiss(job_id: UUID, *, actor: str, reason: str) -> State:
    return operate.dismiss(job_id, actor=actor, reason=reason, using=alias())


VERBS = {
    Move.PARK: park,
    Move.RELEASE: release,
    Move.RUN_NOW: run_now,
    Move.CANCEL: cancel,
    Move.REDRIVE: redrive,
    Move.DISMISS: dismiss,
}


def each(verb: Move, job_ids: Iterable[UUID], *, actor: str, reason: str) -> Iterator[Answer]:
    """One verb on many jobs, each in its own transaction; an answer per row."""
    for job_id in job_ids:
        try:
            yield Answer(job_id, VERBS[verb](job_id, actor=actor, reason=reason))
        except MoveRefused as refused:
            yield Answer(job_id, None, refused.code, str(refused))


def redrive_many(
    job_ids: Iterable[UUID], *, actor: str, reason: str, batch: int = 500
) -> Iterator[Answer]:
    """Redrive many dead letters, ``batch`` per transaction; give them newest first."""
    return redriving.redrive_many(
        job_ids, actor=actor, reason=reason, using=alias(), reopen_of=_reopen_of, batch=batch
    )


def _reopen_of(kind: str) -> Reopen | None:
    return reopen_of(registry.find(kind), using=alias())


def find_dead(
    kind: str | None = None,
    code: str | None = None,
    queue: str | None = None,
    tenant: str | None = None,
) -> Iterator[UUID]:
    """The ids of dead letters, newest first, streamed."""
    found = Job.objects.using(alias()).dead()
    for name, value in (
        ("kind", kind),
        ("error_code", code),
        ("queue", queue),
        ("tenant_id", tenant),
    ):
        if value is not None:
            found = found.filter(**{name: value})
    return found.order_by("-id").values_list("id", flat=True).iterator(chunk_size=2000)


def pause(
    scope: str, value: str, *, actor: str, reason: str, until: datetime | None = None
) -> Pause:
    """Claims pass over a queue, kind or tenant until it is resumed or ``until`` has come. What runs goes on."""
    return pausing.pause(scope, value, actor=actor, reason=reason, until=until, using=alias())


def resume(scope: str, value: str, *, actor: str, reason: str) -> None:
    """End a pause now."""
    pausing.resume(scope, value, actor=actor, reason=reason, using=alias())


def set_aside_tenant(tenant: str, *, but: str, actor: str) -> bool:
    """In the caller's transaction: park what the tenant has unfinished, because its rows are to be replaced.

    Kinds that begin with ``but`` are left alone. Answers whether nothing of it runs any more; else come again.
    """
    return restored.set_aside_tenant(tenant, but=but, actor=actor, using=alias())
