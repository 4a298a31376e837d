"""The lease of a request: one guarded statement per move. Every write of a walk matches its token."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connections, router

from hubqueue.policy import Backoff, spread
from leads.errors import WalkLeaseLost
from leads.marks import Mark
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
    RETURNING request.id, request.event_id, request.lease_token, request.failures,
        request.failing_since IS NOT NULL AND request.failures > 0 AS failing
),
served AS (DELETE FROM leads_leadarm AS arm USING due WHERE arm.event_id = due.event_id)
SELECT id, event_id, lease_token, failures, failing{more} FROM taken
"""

# A crash that loses a claim loses nothing: whatever the walk commits comes later in the server's log, and
# takes the claim along. So its commit does not wait for the disk.
_UNWAITED = ", set_config('synchronous_commit', 'off', true)"

_CLAIM = f"""
WITH due AS MATERIALIZED (
    SELECT id, event_id FROM leads_leadrequest
    WHERE NOT done AND parked_at IS NULL
        AND (next_attempt_at IS NULL OR next_attempt_at <= hubqueue_now())
        AND (claimed_at IS NULL OR claimed_at <= hubqueue_now() - %(lease)s)
    ORDER BY attempted_at ASC NULLS FIRST, created_at, id LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
),
{_TAKEN.replace("{more}", _UNWAITED)}
"""

_TAKE = f"""
WITH due AS MATERIALIZED (
    SELECT id, event_id FROM leads_leadrequest
    WHERE event_id = %(event)s AND parked_at IS NULL
        AND (claimed_at IS NULL OR claimed_at <= hubqueue_now() - %(lease)s)
    FOR NO KEY UPDATE
),
{_TAKEN.replace("{more}", "")}
"""

_RENEW = """
UPDATE leads_leadrequest SET claimed_at = hubqueue_now(), progress = %(progress)s
WHERE id = %(id)s AND lease_token = %(token)s
RETURNING event_id, failures, failing_since IS NOT NULL AND failures > 0
"""

# A walk that only looked is ended without waiting for the disk: a crash of the server that loses this
# leaves a lease that expires, and the next walk only looks again.
_ENDED = """
WITH ended AS (
    UPDATE leads_leadrequest AS request SET
        {changes}, progress = %(progress)s, claimed_at = NULL, claimed_by = '', lease_token = NULL,
        updated_at = hubqueue_now()
    WHERE id = %(id)s AND lease_token = %(token)s
    RETURNING event_id, done, failing_since
),
marked AS (
    INSERT INTO leads_walkmark (event_id, rule_id, fingerprint, seen_xid)
    SELECT ended.event_id, rule.id, given.fingerprint, given.seen
    FROM ended, unnest(%(rules)s::uuid[], %(fingerprints)s::text[], %(seen)s::bigint[])
        AS given (rule_id, fingerprint, seen) JOIN leads_leadrule AS rule ON rule.id = given.rule_id
    ON CONFLICT (event_id, rule_id) DO UPDATE SET
        fingerprint = excluded.fingerprint, seen_xid = excluded.seen_xid
)
SELECT done, failing_since, CASE WHEN %(looked)s THEN set_config('synchronous_commit', 'off', true) END FROM ended
"""

_FINISH = _ENDED.format(
    changes="""
        done = NOT EXISTS (SELECT FROM leads_leadarm AS arm WHERE arm.event_id = request.event_id),
        error_detail = '', failures = 0, failing_since = NULL, next_attempt_at = NULL"""
)

_FAIL = _ENDED.format(
    changes="""
        error_detail = %(error)s, failures = failures + 1,
        failing_since = CASE WHEN failures > 0 AND failing_since IS NOT NULL THEN failing_since
            ELSE hubqueue_now() END,
        next_attempt_at = hubqueue_now() + %(wait)s"""
)

_LET_GO = _ENDED.format(changes="done = request.done")

_NEXT_DUE = """
SELECT min(greatest(
    coalesce(next_attempt_at, hubqueue_now()), coalesce(claimed_at + %(lease)s, hubqueue_now())))
FROM leads_leadrequest WHERE NOT done AND parked_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """A claimed request. ``failures`` are those in a row before this walk; ``failing``: somebody is to be
    told of them."""

    id: UUID
    event_id: UUID
    token: UUID
    failures: int
    failing: bool


def claim(*, by: str) -> Lease | None:
    """Lease the due request that was attempted least recently and delete the arms it serves, or None.

    A transaction of its own: its commit does not wait for the disk.
    """
    return _lease(_CLAIM, {"by": by[:200], "token": uuid4(), "lease": LEASE})


def take(event_id: UUID, *, by: str) -> Lease | None:
    """Lease the request of this event, done or not. None when it is parked, leased or not there."""
    return _lease(_TAKE, {"event": event_id, "by": by[:200], "token": uuid4(), "lease": LEASE})


def resume(request_id: UUID, token: UUID) -> Lease:
    """The lease that ``take`` gave, renewed. Raises ``WalkLeaseLost``."""
    ((event_id, failures, failing),) = _write(
        _RENEW, {"id": request_id, "token": token, "progress": json.dumps({})}
    )
    return Lease(request_id, event_id, token, failures, failing)


def renew(lease: Lease, progress: dict[str, Any]) -> None:
    """Check the fence, renew the lease and note the progress; locks the row. Raises ``WalkLeaseLost``."""
    _write(_RENEW, _parameters(lease, progress))


def finish(
    lease: Lease, progress: dict[str, Any], marks: Sequence[Mark] = (), *, looked: bool = False
) -> bool:
    """End a walk that succeeded. Done only if no arm is left; answers that. Raises ``WalkLeaseLost``.

    ``marks`` are kept with it. ``looked``: the walk has written nothing, and its end does not wait for
    the disk.
    """
    (done, *_), *_ = _write(_FINISH, _parameters(lease, progress) | _given(marks, looked))
    return bool(done)


def fail(
    lease: Lease, progress: dict[str, Any], marks: Sequence[Mark] = (), *, code: str, reason: str
) -> datetime:
    """End a walk that failed: loudly, and due again after a growing wait. Raises ``WalkLeaseLost``.

    Answers since when the request has been failing.
    """
    error = f"{code}: {reason}" if reason else code
    said = {"error": error[:300], "wait": spread(BACKOFF.ceiling(lease.failures + 1))}
    ((_done, since, *_),) = _write(_FAIL, _parameters(lease, progress) | _given(marks) | said)
    assert isinstance(since, datetime)
    return since


def let_go(lease: Lease, progress: dict[str, Any], marks: Sequence[Mark] = ()) -> None:
    """End a walk that stopped early: the request is due at once. Raises ``WalkLeaseLost``."""
    _write(_LET_GO, _parameters(lease, progress) | _given(marks))


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
    return None if row is None else Lease(*row[:5])


def _write(statement: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connections[_alias()].cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    if not rows:
        raise WalkLeaseLost("the walk no longer holds its request")
    return rows


def _parameters(lease: Lease, progress: dict[str, Any]) -> dict[str, Any]:
    return {"id": lease.id, "token": lease.token, "progress": json.dumps(progress)}


def _given(marks: Sequence[Mark], looked: bool = False) -> dict[str, Any]:
    return {
        "rules": [each.rule_id for each in marks],
        "fingerprints": [each.fingerprint for each in marks],
        "seen": [each.seen for each in marks],
        "looked": looked,
    }


def _alias() -> str:
    return router.db_for_write(LeadRequest)
