"""Step one: the record and its delivery job, in the transaction of what caused them."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connections, models, router, transaction

from hubqueue.ids import uuid7s
from notifications.categories import category
from notifications.decision import decide, read_wishes
from notifications.deliver_handler import deliver
from notifications.models import Channel, Notification
from notifications.signals import delivery_ended

LONGEST_CAUSE = 150
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


@dataclass(frozen=True, slots=True)
class Notice:
    """One message to be recorded. ``cause`` names the change: the same one is recorded once per person.

    ``recipient`` and ``actor`` are keys of accounts. ``subject`` is the object it is about.
    """

    category: str
    recipient: Any
    cause: str
    subject: models.Model | None = None
    actor: Any = None
    tenant: str | None = None
    channel: Channel = Channel.MAIL


def record(notices: Sequence[Notice]) -> list[UUID]:
    """Record all, and enqueue the delivery of those that are to be sent: one statement per table.

    Answers the ids of the records that are new; what a cause recorded earlier is passed over.
    """
    if not notices:
        return []
    asked = [
        _record(notice, row_id)
        for notice, row_id in zip(notices, uuid7s(len(notices)), strict=True)
    ]
    wishes = read_wishes(each.recipient_id for each in asked)
    records = [each for each in asked if each.recipient_id in wishes.people]
    for each in records:
        refusal = decide(category(each.category), each, wishes)
        if refusal is not None:
            each.state, each.reason = refusal.state, refusal.reason
    with transaction.atomic(using=router.db_for_write(Notification)):
        new = _insert(records)
        _enqueue([each for each in records if each.pk in new])
        _tell_after_commit([each for each in records if each.pk in new])
    return [each.pk for each in records if each.pk in new]


def _record(notice: Notice, row_id: UUID) -> Notification:
    if len(notice.cause) > LONGEST_CAUSE:
        said = f"cause: expected up to {LONGEST_CAUSE} characters, got {len(notice.cause)}"
        raise ValueError(said)
    about = notice.subject
    as_key = get_user_model()._meta.pk.to_python  # "7" is 7
    return Notification(
        id=row_id,
        tenant_id=notice.tenant,
        recipient_id=as_key(notice.recipient),
        category=notice.category,
        channel=notice.channel,
        cause_id=notice.cause,
        subject_type="" if about is None else about._meta.label_lower,
        subject_id="" if about is None else str(about.pk),
        actor_id=as_key(notice.actor),
    )


def _insert(records: Sequence[Notification]) -> set[UUID]:
    """In the order of the unique index, so that two transactions with the same causes cannot deadlock."""
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
    insert = _INSERT.format(accounts=quote(people.db_table), key=quote(column))
    with connection.cursor() as cursor:
        cursor.execute(insert, [json.dumps(rows)])
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


def _enqueue(records: Sequence[Notification]) -> None:
    deliver.enqueue_many(
        deliver.using(tenant=each.tenant_id, dedupe_key=str(each.pk)).item(notification_id=each.pk)
        for each in records
        if each.state == Notification.State.PENDING
    )


def _tell_after_commit(records: Sequence[Notification]) -> None:
    """Of those that were over when they were recorded."""
    ended = Counter(
        (each.category, str(each.state), str(each.reason))
        for each in records
        if each.state != Notification.State.PENDING
    )
    for (name, state, reason), count in ended.items():
        tell = partial(
            delivery_ended.send_robust,
            sender=None,
            category=name,
            state=state,
            reason=reason,
            count=count,
        )
        transaction.on_commit(tell, using=router.db_for_write(Notification), robust=True)
