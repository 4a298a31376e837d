"""The fence, in one place: every write after a claim matches id, RUNNING and fence here, or raises ``LeaseLost``."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from django.db import DatabaseError, OperationalError

from hubqueue.errors import LeaseLost, RowBusy
from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.opening import ask, literal
from hubqueue.models import Job
from hubqueue.signals import lease_lost

# The row stayed locked (for our own patience, or for what the server grants a statement or a lock), a deadlock chose
# us, or the order of events could not be kept: nobody's fault here.
ROW_BUSY = frozenset({"55P03", "57014", "40P01", "40001"})
# What hubqueue_settle raises, when asked to be strict, for an attempt that no longer holds its job.
NOT_HELD = "HQ001"
WRITES = {
    "hold": "SELECT coalesce(json_agg(held.id)::text, '[]') FROM hubqueue_hold(%s::jsonb) AS held",
    "progress": "SELECT coalesce(json_agg(kept.id)::text, '[]') FROM hubqueue_progress(%s::jsonb) AS kept",
    "settle": (
        "SELECT coalesce(json_agg("
        "json_build_array(s.id, s.state, s.attempts, s.run_at, s.successor, s.settled_at))::text, '[]')"
        " FROM hubqueue_settle(%s::jsonb, %s::text, false) AS s"
    ),
}
SETTLE_AND_COMMIT = b"SELECT hubqueue_settle_last(%b::jsonb, %b::text); COMMIT"


Key = tuple[UUID, int]


class Claimed(msgspec.Struct, array_like=True):
    """A job as one attempt holds it, in the order of ``hubqueue_claimed``. ``claimed_at`` is the database's clock at
    the claim."""

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
    meta: Any
    created_at: datetime
    claimed_at: datetime
    claimed_by: UUID | None

    @property
    def attempt(self) -> Key:
        """Which attempt of which job: the same job may be ours again before its last attempt is tidied away."""
        return self.id, self.fence


class Attempted(msgspec.Struct):
    """An attempt as a write after its claim names it: the job and the fence that the claim gave."""

    id: UUID
    fence: int


_ROWS = msgspec.json.Decoder(list[Claimed])
_APART = msgspec.json.Decoder(list[msgspec.Raw])
_ROW = msgspec.json.Decoder(Claimed)


def read_claimed(answer: str | bytes) -> list[Claimed]:
    """The jobs of a claim's answer, in its order."""
    try:
        return _ROWS.decode(answer)
    except msgspec.DecodeError:
        return [_read(each) for each in _APART.decode(answer)]


def _read(raw: msgspec.Raw) -> Claimed:
    try:
        return _ROW.decode(raw)
    except msgspec.DecodeError:
        # Numbers beyond a double: Python's reader takes them, and the handler's signature has the last word.
        return msgspec.convert(json.loads(bytes(raw)), Claimed)


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
    attempts: Sequence[Attempted],
    *more: Any,
    using: str,
    all_or_nothing: bool = True,
) -> list[Any]:
    """Make one of the writes that follow a claim; answer one element per attempt that still held its job.

    The write is a function of the database (``hubqueue_settle``, ...) that asks ``hubqueue_holds`` of each row.
    Raises ``LeaseLost`` when fewer answer than ``attempts`` names, unless ``all_or_nothing`` is off. The
    caller's transaction is what rolls back.
    """
    with connection(using).cursor() as cursor:
        cursor.execute(WRITES[write], [msgspec.json.encode(attempts).decode(), *more])
        (answer,) = cursor.fetchone()
    held: list[Any] = msgspec.json.decode(answer)
    if all_or_nothing and len(held) < len(attempts):
        raise LeaseLost(
            f"{len(attempts) - len(held)} of {len(attempts)} attempts no longer hold their job"
        )
    return held


def hold(claimed: Claimed, *, using: str) -> None:
    """Lock the job's row in the open transaction. Raises ``LeaseLost``; ``RowBusy`` when the wait is ended."""
    try:
        fenced("hold", [Attempted(claimed.id, claimed.fence)], using=using)
    except LeaseLost:
        lease_lost.send_robust(sender=None, kind=claimed.kind)
        raise
    except OperationalError as raised:
        if getattr(raised.__cause__, "sqlstate", None) in ROW_BUSY:
            raise RowBusy("the job's row stayed locked by another transaction") from raised
        raise


def settled_and_committed(
    attempts: Sequence[Attempted], patience: str, *, using: str
) -> tuple[str, list[Any]]:
    """``fenced("settle")`` and the COMMIT of the open transaction in one round trip; see ``connections.may_commit``.

    Answers the moment of the settle, and an element for each attempt whose job is not SUCCEEDED now. The server
    refuses, and so commits nothing, when an attempt no longer holds its job: ``LeaseLost``.
    """
    ours = connection(using)
    given = msgspec.json.encode(attempts), patience.encode()
    try:
        with ours.wrap_database_errors:
            held = ours.connection
            told, _ = ask(held, SETTLE_AND_COMMIT % tuple(literal(held, each) for each in given))
    except DatabaseError as raised:
        if getattr(raised.__cause__, "sqlstate", None) == NOT_HELD:
            raise LeaseLost("an attempt no longer holds its job") from raised
        raise
    moment, others = msgspec.json.decode(told.get_value(0, 0) or b"")
    return moment, others
