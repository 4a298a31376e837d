"""The worker's row: register, renew the lease of all it holds, carry its progress, hear what officers asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from hubqueue.lifecycle.database import connection, interval
from hubqueue.lifecycle.guard import Attempted, fenced
from hubqueue.models import Worker
from hubqueue.querysets import Now


@dataclass(frozen=True, slots=True)
class Registration:
    """A worker child as it announces itself."""

    id: UUID
    host: str
    pid: int
    queues: list[str]
    kinds: list[str]
    solo: bool
    sessions_visible: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A job that a worker holds, as its row says. ``stop`` is what an officer asked, if anything."""

    worker: UUID
    id: UUID
    fence: int
    stop: str | None


class Told(Attempted):
    """The progress of an attempt, in shares of 1."""

    share: float


def register(child: Registration, *, lease: timedelta, using: str) -> None:
    """Insert or refresh the row of a worker. It must be there before the worker's first claim."""
    Worker.objects.using(using).update_or_create(
        pk=child.id,
        defaults={
            "host": child.host[:255],
            "pid": child.pid,
            "queues": child.queues,
            "kinds": child.kinds,
            "solo": child.solo,
            "sessions_visible": child.sessions_visible,
            "started_at": Now(),
            "lease_until": Now() + lease,
        },
    )


def renew(workers: Sequence[UUID], *, lease: timedelta, using: str) -> set[UUID]:
    """Lengthen the leases by one statement that no job's row lock can block. Answers those whose row is there."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            "UPDATE hubqueue_worker SET lease_until = hubqueue_now() + %s::interval"
            " WHERE id = ANY(%s::uuid[]) RETURNING id",
            [interval(lease), list(workers)],
        )
        return {worker for (worker,) in cursor.fetchall()}


def remove(worker: UUID, *, using: str) -> None:
    """Delete the row of a worker that ended and holds nothing."""
    Worker.objects.using(using).filter(pk=worker).delete()


def held_by(workers: Sequence[UUID], *, using: str) -> list[Held]:
    """What the rows say these workers hold."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            "SELECT claimed_by, id, fence, stop_requested FROM hubqueue_job"
            " WHERE state = 'RUNNING' AND claimed_by = ANY(%s::uuid[])",
            [list(workers)],
        )
        return [Held(*row) for row in cursor.fetchall()]


def store_progress(shares: Sequence[tuple[UUID, int, float]], *, using: str) -> set[UUID]:
    """Write progress (id, fence, share) of attempts that still hold their job. Answers the ids that were written:
    rows that are locked are passed over."""
    if not shares:
        return set()
    told = [Told(job_id, fence, share) for job_id, fence, share in shares]
    written = fenced("progress", told, using=using, all_or_nothing=False)
    return {UUID(job_id) for job_id in written}
