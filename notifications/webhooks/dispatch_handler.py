"""From one event to one message per subscription that asked for it: exactly once."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from hubqueue.api import Item, JobContext, handler
from hubqueue.ids import uuid7s
from hubqueue.querysets import database_now
from notifications.models import WebhookMessage, WebhookSubscription
from notifications.webhooks.body import cloud_event
from notifications.webhooks.deliver_handler import QUEUE, first_attempt
from notifications.webhooks.deliver_handler import deliver as delivery
from notifications.webhooks.pace import expected_wait

# An endpoint that takes so many seconds and is this far behind gets the next message later, not all at once.
SLOW = 0.5
BEHIND = timedelta(seconds=5)


@handler("webhooks.dispatch", queue=QUEUE)
def dispatch(
    job: JobContext,
    *,
    event_id: UUID,
    event_type: str,
    at: datetime,
    subject: str,
    data: dict[str, Any],
    tenant: str | None,
    cause: str,
) -> None:
    """Make the messages of an event and the jobs of their first attempts, in one transaction."""
    told = WebhookMessage.objects.filter(event_type=event_type, cause_id=cause)
    subscriptions = list(
        WebhookSubscription.objects.wanting(event_type, tenant)
        .exclude(pk__in=told.values("subscription"))
        .order_by("pk")
    )
    if not subscriptions:
        return
    body = cloud_event(event_id, event_type, at=at, subject=subject, data=data)
    now = database_now(job.using)
    ids = uuid7s(len(subscriptions))
    items: list[Item] = []
    for message_id, subscription in zip(ids, subscriptions, strict=True):
        moment = _later(subscription, now)
        items.append(first_attempt(message_id, tenant=tenant, ladder=1, run_at=moment))
    WebhookMessage.objects.bulk_create(
        WebhookMessage(
            id=message_id,
            subscription=subscription,
            tenant_id=tenant,
            event_type=event_type,
            cause_id=cause,
            body=body,
            next_attempt_at=now,
        )
        for message_id, subscription in zip(ids, subscriptions, strict=True)
    )
    delivery.enqueue_many(items)


def _later(subscription: WebhookSubscription, now: datetime) -> datetime | None:
    """When an endpoint that is slow and behind gets its turn; None = now."""
    if subscription.last_seconds < SLOW:
        return None
    wait = expected_wait(subscription, now)
    return now + wait if wait > BEHIND else None
