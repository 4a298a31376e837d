"""Arming: a trigger leaves a row, in the transaction that caused it, and waits for nobody."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import connections, router

from leads.models import LeadArm, LeadRule
from leads.predicates import Axis

Trigger = LeadArm.Trigger

# A request that another transaction holds or is about to insert is left to it: an arm alone is enough
# to be found by the pass, so nothing here ever waits, and two transactions that touch two events in
# opposite order cannot deadlock.
_OPEN = """
reopened AS (
    UPDATE leads_leadrequest SET done = false, updated_at = hubqueue_now(), updated_by = %(by)s
    WHERE id IN (
        SELECT request.id FROM leads_leadrequest AS request JOIN armed USING (event_id)
        WHERE request.done ORDER BY request.event_id FOR NO KEY UPDATE OF request SKIP LOCKED
    )
),
missing AS MATERIALIZED (
    SELECT DISTINCT event_id FROM armed WHERE NOT EXISTS (
        SELECT FROM leads_leadrequest AS request WHERE request.event_id = armed.event_id)
    ORDER BY event_id LIMIT 1000
),
created AS (
    INSERT INTO leads_leadrequest (id, event_id, done, created_by, updated_by)
    SELECT gen_random_uuid(), event_id, false, %(by)s, %(by)s FROM missing
    WHERE pg_try_advisory_xact_lock(hashtextextended(event_id::text, 20417))
    ON CONFLICT (event_id) DO NOTHING
)
"""

_ARM_IF_RULED = "SELECT leads_arm_if_ruled(%(event)s, %(triggers)s, %(by)s)"

_ARM = f"""
WITH armed AS (
    INSERT INTO leads_leadarm (event_id, trigger)
    SELECT event_id, %(trigger)s FROM unnest(%(events)s::uuid[]) AS event_id
    RETURNING event_id
),
{_OPEN}
SELECT count(*) FROM armed
"""

_ADOPT = f"""
WITH RECURSIVE walk AS (
    (SELECT event_id FROM leads_leadarm ORDER BY event_id LIMIT 1)
    UNION ALL
    SELECT (SELECT arm.event_id FROM leads_leadarm AS arm
            WHERE arm.event_id > walk.event_id ORDER BY arm.event_id LIMIT 1)
    FROM walk WHERE walk.event_id IS NOT NULL
),
armed AS MATERIALIZED (
    SELECT event_id FROM walk WHERE EXISTS (SELECT FROM leads_event WHERE id = walk.event_id)
),
orphans AS (
    DELETE FROM leads_leadarm WHERE event_id IN (
        SELECT event_id FROM walk
        WHERE NOT EXISTS (SELECT FROM leads_event WHERE id = walk.event_id))
),
{_OPEN}
SELECT count(*) FROM armed
"""

_CANDIDATES = """
SELECT event.id FROM leads_event AS event
WHERE (%(events)s::uuid[] IS NULL OR event.id = ANY (%(events)s::uuid[])) AND EXISTS (
    SELECT FROM leads_registration AS registration
    WHERE registration.event_id = event.id AND registration.active
        AND registration.state IN ('open', 'done')
        AND (NOT %(done_only)s OR registration.state = 'done'))
ORDER BY event.id
"""


def birth_triggers(state: str) -> list[Trigger]:
    """The triggers of a registration that is created in this state."""
    return [Trigger.CREATED, *arrival_triggers(state)]


def arrival_triggers(state: str) -> list[Trigger]:
    """The triggers of a registration that comes into this state."""
    return {"open": [Trigger.CONFIRMED], "done": [Trigger.DONE]}.get(state, [])


def arm_registration(event_id: UUID, triggers: Sequence[Trigger], *, by: str = "") -> bool:
    """Arm the event for those of ``triggers`` that an active rule of its scope listens to.

    One statement in the caller's transaction: every registration pays for it. Answers whether any did.
    """
    return _execute(
        _ARM_IF_RULED,
        {"event": event_id, "triggers": [each.value for each in triggers], "by": by[:150]},
    )


def arm_events(event_ids: Iterable[UUID], trigger: Trigger, *, by: str = "") -> bool:
    """Arm events whatever the rules say, in id order. Answers whether there were any."""
    events = sorted(set(event_ids))
    if not events:
        return False
    return _execute(_ARM, {"events": events, "trigger": trigger.value, "by": by[:150]})


def arm_rule(rule: LeadRule, *, by: str = "") -> bool:
    """Arm the events in whose registrations the rule may find candidates, in id order."""
    parameters: dict[str, Any] = {"events": _scope(rule), "done_only": rule.done_only}
    with connections[router.db_for_write(LeadArm)].cursor() as cursor:
        cursor.execute(_CANDIDATES, parameters)
        found = [event_id for (event_id,) in cursor.fetchall()]
    return arm_events(found, Trigger.RULE, by=by)


def adopt_arms() -> None:
    """Open the requests of all events that have an arm: what a rolled-back rival left undone.

    Arms whose event is gone are deleted.
    """
    _execute(_ADOPT, {"by": "leads.generate"})


def _scope(rule: LeadRule) -> list[UUID] | None:
    """The events a rule can reach, or None for all."""
    scope = None if rule.event_id is None else {rule.event_id}
    for predicate in rule.predicates.filter(axis=Axis.EVENT):
        named = {UUID(value) for value in predicate.values}
        scope = named if scope is None else scope & named
    return None if scope is None else sorted(scope)


def _execute(statement: str, parameters: dict[str, Any]) -> bool:
    with connections[router.db_for_write(LeadArm)].cursor() as cursor:
        cursor.execute(statement, parameters)
        (count,) = cursor.fetchone()
    return bool(count)
