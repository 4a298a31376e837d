"""The rows of many records in one statement, those of accounts left out that are being deleted."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connections, router

from notifications.models import Notification

# The columns take their types from the table, and every row is one object of one parameter. Then the accounts are
# held, records first like the deletion of an account: the other order would be a deadlock with it.
_INSERT = """
WITH new AS (
    INSERT INTO notifications_notification (
        id, tenant_id, recipient_id, category, channel, state, reason, cause_id, subject_type, subject_id,
        actor_id, attempts, created_at, finished_at)
    SELECT id, tenant_id, recipient_id, category, channel, state, reason, cause_id, subject_type, subject_id,
        actor_id, 0, hubqueue_now(), CASE WHEN state <> 'pending' THEN hubqueue_now() END
    FROM jsonb_populate_recordset(NULL::notifications_notification, %s)
    ON CONFLICT (tenant_id, cause_id, recipient_id, channel) DO NOTHING
    RETURNING id, recipient_id, actor_id
), account AS MATERIALIZED (
    SELECT {key} AS id FROM {accounts}
    WHERE {key} IN (SELECT recipient_id FROM new UNION SELECT actor_id FROM new)
    ORDER BY {key}
    FOR KEY SHARE
)
SELECT id, recipient_id IN (SELECT id FROM account), actor_id IS NULL OR actor_id IN (SELECT id FROM account)
FROM new
"""


def insert(records: Sequence[Notification]) -> set[UUID]:
    """Store those that are new, and answer their ids. To be called in a transaction.

    In the order of the unique index, so that two transactions with the same causes cannot deadlock.
    """
    ordered = sorted(
        records,
        key=lambda each: (
            each.tenant_id or "",
            each.cause_id,
            str(each.recipient_id),
            each.channel,
        ),
    )
    rows = [
        {
            "id": str(each.pk),
            "tenant_id": each.tenant_id,
            "recipient_id": _plain(each.recipient_id),
            "category": each.category,
            "channel": str(each.channel),
            "state": str(each.state),
            "reason": str(each.reason),
            "cause_id": each.cause_id,
            "subject_type": each.subject_type,
            "subject_id": each.subject_id,
            "actor_id": _plain(each.actor_id),
        }
        for each in ordered
    ]
    connection = connections[router.db_for_write(Notification)]
    people, quote = get_user_model()._meta, connection.ops.quote_name
    column = str(people.pk.column)
    statement = _INSERT.format(accounts=quote(people.db_table), key=quote(column))
    with connection.cursor() as cursor:
        cursor.execute(statement, [json.dumps(rows)])
        new = cursor.fetchall()
    return _without_the_deleted(new)


def _without_the_deleted(new: list[tuple[UUID, bool, bool]]) -> set[UUID]:
    """An account that was deleted since it was read is not told, and undoes neither the cause nor what others get."""
    stray = [row_id for row_id, recipient, _ in new if not recipient]
    orphaned = [row_id for row_id, recipient, actor in new if recipient and not actor]
    if stray:
        Notification.objects.filter(pk__in=stray).delete()
    if orphaned:
        Notification.objects.filter(pk__in=orphaned).update(actor=None)
    return {row_id for row_id, *_ in new}.difference(stray)


def _plain(key: Any) -> Any:
    return key if key is None or isinstance(key, int) else str(key)
