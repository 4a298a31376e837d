"""The lease of a request: one guarded statement per move. Every write of a walk matches its token."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connections, router

from hubqueue.policy import Backoff, spread
from leads.errors import WalkLeaseLost
from leads.models import LeadRequest
from leads.models.requests import LEASE

BACKOFF = Backoff(base=timedelta(minutes=1), cap=timedelta(hours=6))

# The arms go in the claim's own statement: whoever armed later than its snapshot keeps the request open.
_TAKEN = """
taken AS (
    UPDATE leads_leadrequest AS request SET
        done = false, claimed_at = hubqueue_now(), claimed_by = %(by)s, lease_token = %(token)s,
        attempted_at = hubqueue_now(), progress = '{}', updated_at = hubqueue_now(), updated_by = %(by)s
    FROM due WHERE request.id = due.id
    RETURNING request.id, request.event_id, request.lease_token, request.failures
),
served AS (DELETE FROM leads_leadarm AS arm USING due WHERE arm.event_id = due.event_id)
SELECT id, event_id, lease_token, failures FROM taken
"""

_CLAIM = f"""
WITH due AS MATERIALIZED (
    SELECT id, event_id FROM leads_leadrequest
    WHERE NOT done AND parked_at IS NULL
        AND (next_attempt_at IS NULL OR next_attempt_at <= hubqueue_now())
        AND (claimed_at IS NULL OR claimed_at <= hubqueue_now() - %(lease)s)
    ORDER BY attempted_at ASC NULLS FIRST, created_at, id LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
),
{_TAKEN}
"""

_TAKE = f"""
WITH due AS MATERIALIZED (
    SELECT id, event_id FROM leads_leadrequest
    WHERE event_id = %(event)s AND parked_at IS NULL
        AND (claimed_at IS NULL OR claimed_at <= hubqueue_now() - %(lease)s)
    FOR NO KEY UPDATE
),
{_TAKEN}
"""

_RENEW = """
UPDATE leads_leadrequest SET claimed_at = hubqueue_now(), progress = %(progress)s
WHERE id = %(id)s AND lease_token = %(token)s
RETURNING event_id, failures
"""

_FREE = "claimed_at = NULL, claimed_by = '', lease_token = NULL, updated_at = hubqueue_now()"

_FINISH = f"""
UPDATE leads_leadrequest AS request SET
    done = NOT EXISTS (SELECT FROM leads_leadarm AS arm WHERE arm.event_id = request.event_id),
    error_detail = '', failures = 0, next_attempt_at = NULL, progress = %(progress)s, {_FREE}
WHERE id = %(id)s AND lease_token = %(token)s
RETURNING done
"""

_FAIL = f"""
UPDATE leads_leadrequest SET
    error_detail = %(error)s, failures = failures + 1,
    next_attempt_at = hubqueue_now() + %(wait)s, progress = %(progress)s, {_FREE}
WHERE id = %(id)s AND lease_token = %(token)s
RETURNING failures
"""

_LET_GO = f"""
UPDATE leads_leadrequest SET progress = %(progress)s, {_FREE}
WHERE id = %(id)s AND lease_token = %(token)s
RETURNING id
"""

_NEXT_DUE = """
SELECT min(greatest(
    coalesce(next_attempt_at, hubqueue_now()), coalesce(claimed_at + %(lease)s, hubqueue_now())))
FROM leads_leadrequest WHERE NOT done AND parked_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """A claimed request. ``failures`` are those in a row before this walk."""

    id: UUID
    event_id: UUID
    token: UUID
    failures: int


def claim(*, by: str) -> Lease | None:
    """Lease the due request that was attempted least recently and delete the arms it serves, or None."""
    return _lease(_CLAIM, {"by": by[:200], "token": uuid4(), "lease": LEASE})


def take(event_id: UUID, *, by: str) -> Lease | None:
    """Lease the request of this event, done or not. None when it is parked, leased or not there."""
    return _lease(_TAKE, {"event": event_id, "by": by[:200], "token": uuid4(), "lease": LEASE})


def resume(request_id: UUID, token: UUID) -> Lease:
    """The lease that ``take`` gave, renewed. Raises ``WalkLeaseLost``."""
    ((event_id, failures),) = _write(
        _RENEW, {"id": request_id, "token": token, "progress": json.dumps({})}
    )
    return Lease(request_id, event_id, token, failures)


def renew(lease: Lease, progress: dict[str, Any]) -> None:
    """Check the fence, renew the lease and note the progress; locks the row. Raises ``WalkLeaseLost``."""
    _write(_RENEW, _parameters(lease, progress))


def finish(lease: Lease, progress: dict[str, Any]) -> bool:
    """End a walk that succeeded. Done only if no arm is left; answers that. Raises ``WalkLeaseLost``."""
    ((done,),) = _write(_FINISH, _parameters(lease, progress))
    return bool(done)


def fail(lease: Lease, progress: dict[str, Any], *, code: str, reason: str) -> None:
    """End a walk that failed: loudly, and due again after a growing wait. Raises ``WalkLeaseLost``."""
    error = f"{code}: {reason}" if reason else code
    wait = spread(BACKOFF.ceiling(lease.failures + 1))
    _write(_FAIL, {**_parameters(lease, progress), "error": error[:300], "wait": wait})


def let_go(lease: Lease, progress: dict[str, Any]) -> None:
    """End a walk that stopped early: the request is due at once. Raises ``WalkLeaseLost``."""
    _write(_LET_GO, _parameters(lease, progress))


def next_due() -> datetime | None:
    """When the next open request that is not parked may be claimed; in the past when it is due now."""
    with connections[_alias()].cursor() as cursor:
        parameters: dict[str, Any] = {"lease": LEASE}
        cursor.execute(_NEXT_DUE, parameters)
        (moment,) = cursor.fetchone()
    assert moment is None or isinstance(moment, datetime)
    return moment


def _lease(statement: str, parameters: dict[str, Any]) -> Lease | None:
    with connections[_alias()].cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    return None if row is None else Lease(*row)


def _write(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connections[_alias()].cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    if not rows:
        raise WalkLeaseLost("the walk no longer holds its request")
    return rows


def _parameters(lease: Lease, progress: dict[str, Any]) -> dict[str, Any]:
    return {"id": lease.id, "token": lease.token, "progress": json.dumps(progress)}


def _alias() -> str:
    return router.db_for_write(LeadRequest)
