"""The fence, in one place: every write after a claim matches id, RUNNING and fence here, or raises ``LeaseLost``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from hubqueue.errors import LeaseLost
from hubqueue.lifecycle.database import connection
from hubqueue.models import Job
from hubqueue.signals import lease_lost

WRITES = {
    "hold": "SELECT * FROM hubqueue_hold(%s::uuid[], %s::bigint[])",
    "progress": "SELECT * FROM hubqueue_progress(%s::uuid[], %s::bigint[], %s::float8[])",
    "settle": (
        "SELECT * FROM hubqueue_settle(%s::uuid[], %s::bigint[], %s::text, %s::text[], %s::interval[],"
        " %s::timestamptz[], %s::bool[], %s::text[], %s::text[], %s::text[], %s::bool[])"
    ),
}


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job as one attempt holds it. ``claimed_at`` is the database's clock at the claim."""

    id: UUID
    kind: str
    queue: str
    priority: int
    tenant: str | None
    payload: Any
    dedupe_key: str | None
    run_at: datetime
    attempts: int
    max_attempts: int
    failing_since: datetime | None
    fence: int
    suspect: bool
    meta: dict[str, Any]
    created_at: datetime
    claimed_at: datetime
    claimed_by: UUID | None


def claimed_from(job: Job) -> Claimed:
    """The same, from a row read through the ORM: for moves that act on another worker's behalf."""
    return Claimed(
        id=job.id,
        kind=job.kind,
        queue=job.queue,
        priority=job.priority,
        tenant=job.tenant_id,
        payload=job.payload,
        dedupe_key=job.dedupe_key,
        run_at=job.run_at,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        failing_since=job.failing_since,
        fence=job.fence,
        suspect=job.suspect,
        meta=job.meta,
        created_at=job.created_at,
        claimed_at=job.claimed_at or job.created_at,
        claimed_by=job.claimed_by,
    )


def fenced(
    write: Literal["hold", "progress", "settle"],
    held: Sequence[tuple[UUID, int]],
    *columns: Any,
    using: str,
    all_or_nothing: bool = True,
) -> list[tuple[Any, ...]]:
    """Make one of the writes that follow a claim, for attempts given as (id, fence); answer its rows.

    The write is a function of the database (``hubqueue_settle``, ...) that asks ``hubqueue_holds`` of each row.
    Raises ``LeaseLost`` when fewer rows come back than ``held`` names, unless ``all_or_nothing`` is off:
    then the answer holds the rows that were still held. The caller's transaction is what rolls back.
    """
    given = [[job_id for job_id, _ in held], [fence for _, fence in held], *columns]
    with connection(using).cursor() as cursor:
        cursor.execute(WRITES[write], given)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    if all_or_nothing and len(rows) < len(held):
        raise LeaseLost(f"{len(held) - len(rows)} of {len(held)} attempts no longer hold their job")
    return rows


def hold(claimed: Claimed, *, using: str) -> None:
    """Lock the job's row in the open transaction. Raises ``LeaseLost``."""
    try:
        fenced("hold", [(claimed.id, claimed.fence)], using=using)
    except LeaseLost:
        lease_lost.send_robust(sender=None, kind=claimed.kind)
        raise
