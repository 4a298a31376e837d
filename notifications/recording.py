"""Step one: the record and its delivery job, in the transaction of what caused them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import models, router, transaction

from hubqueue.ids import uuid7s
from notifications.categories import category
from notifications.decision import decide, read_wishes
from notifications.deliver_handler import deliver
from notifications.insertion import insert
from notifications.models import Channel, Notification
from notifications.signals import delivery_ended

LONGEST_CAUSE = 150


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
        new = insert(records)
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
