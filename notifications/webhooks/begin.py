"""The beginning of an attempt: what is sent, and whether there is room for it. In a transaction of the job."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from hubqueue.querysets import database_now
from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.webhooks.body import CONTENT_TYPE
from notifications.webhooks.events import PING
from notifications.webhooks.messages import bury, locked
from notifications.webhooks.outcomes import Outcome, Reason
from notifications.webhooks.pace import turn_comes_after
from notifications.webhooks.sign import seconds_of, signatures, unsealed

AGENT = "hubqueue-webhooks"


@dataclass(frozen=True, slots=True, repr=False)
class Flight:
    """An attempt that is under way. ``headers`` hold the signature: never print them."""

    delivery_id: UUID
    message_id: UUID
    subscription_id: UUID
    ladder: int
    attempt: int
    is_test: bool
    url: str
    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Full:
    """The endpoint has as many attempts under way as it may; there is a turn ``after`` a while."""

    after: timedelta


def begin(message_id: UUID, ladder: int, attempt: int, *, using: str) -> Flight | Full | None:
    """Start the attempt, with a row that says so. None = there is nothing to send any more.

    Raises ``SealBroken``. The subscription's row is held until the transaction ends, so that what is under
    way is counted one by one.
    """
    message = WebhookMessage.objects.filter(
        pk=message_id, state=WebhookMessage.State.PENDING, ladder=ladder, attempts=attempt - 1
    ).first()
    subscription = None if message is None else locked(message.subscription_id)
    if message is None or subscription is None:
        return None
    is_test = message.event_type == PING
    if subscription.state == WebhookSubscription.State.DISABLED and not is_test:
        bury(message, Reason.SUBSCRIPTION_OFF)
        return None
    _close_left_behind(message)
    now = database_now(using)
    wait = turn_comes_after(subscription, now)
    if wait is not None:
        return Full(wait)
    headers = _headers(message)
    row = WebhookDelivery.objects.create(
        message=message,
        subscription=subscription,
        ladder=ladder,
        attempt=attempt,
        headers=headers | {"webhook-timestamp": seconds_of(now)},
    )
    return Flight(
        row.pk,
        message.pk,
        subscription.pk,
        ladder,
        attempt,
        is_test,
        subscription.url,
        bytes(message.body),
        _signed(headers, subscription, message, now),
    )


def _close_left_behind(message: WebhookMessage) -> None:
    """A row of this message that is still open is that of a worker that died."""
    WebhookDelivery.objects.filter(message=message, outcome="").update(outcome=Outcome.INTERRUPTED)


def _headers(message: WebhookMessage) -> dict[str, str]:
    return {
        "content-type": CONTENT_TYPE,
        "accept-encoding": "identity",
        "user-agent": AGENT,
        "webhook-id": str(message.pk),
    }


def _signed(
    headers: dict[str, str],
    subscription: WebhookSubscription,
    message: WebhookMessage,
    now: datetime,
) -> dict[str, str]:
    kept = [subscription.secret]
    if subscription.previous_until is not None and now < subscription.previous_until:
        kept.append(subscription.previous_secret)
    timestamp = seconds_of(now)
    signed = signatures(map(unsealed, kept), str(message.pk), timestamp, bytes(message.body))
    return headers | {"webhook-timestamp": timestamp, "webhook-signature": signed}
