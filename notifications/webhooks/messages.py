"""The moves of messages and subscriptions. Whoever calls these holds the subscription's row."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.dispatch import Signal

from hubqueue.querysets import Now
from notifications.models import WebhookMessage, WebhookSubscription
from notifications.recording import Notice, record
from notifications.webhooks.category import SWITCHED_OFF
from notifications.webhooks.outcomes import Reason
from notifications.webhooks.signals import message_ended, subscription_disabled

State = WebhookMessage.State


def locked(subscription_id: UUID) -> WebhookSubscription | None:
    """The subscription, its row held until the transaction ends. None = it is deleted."""
    rows = WebhookSubscription.objects.select_for_update(no_key=True)
    return rows.filter(pk=subscription_id).first()


def bury(message: WebhookMessage, reason: str) -> None:
    """The message is dead: it is sent again only by a replay."""
    _end(message, State.DEAD, reason)


def arrived(message: WebhookMessage) -> None:
    """The endpoint took the message."""
    _end(message, State.DELIVERED, "")


def disable(subscription: WebhookSubscription, reason: str, *, tell: bool) -> None:
    """Switch an active subscription off; ``tell`` its owner, once for this switching off."""
    changed = WebhookSubscription.objects.active().filter(pk=subscription.pk)
    if not changed.update(
        state=WebhookSubscription.State.DISABLED, reason=reason, disabled_at=Now()
    ):
        return
    subscription.refresh_from_db()
    if tell and subscription.owner_id is not None:
        assert subscription.disabled_at is not None
        cause = f"webhook {subscription.pk} off {subscription.disabled_at.isoformat()}"
        record(
            [
                Notice(
                    SWITCHED_OFF,
                    subscription.owner_id,
                    cause,
                    subject=subscription,
                    tenant=subscription.tenant_id,
                )
            ]
        )
    _tell(subscription_disabled, subscription_id=subscription.pk, reason=reason)


def bury_held(messages: Sequence[WebhookMessage]) -> None:
    """What a restore set aside is dead. The caller holds the rows of the messages; no delivery asks for them."""
    ids = [each.pk for each in messages]
    WebhookMessage.objects.filter(pk__in=ids, state=State.HELD).update(
        state=State.DEAD, reason=Reason.DROPPED, finished_at=Now()
    )
    for each in messages:
        _tell_ended(each, State.DEAD, Reason.DROPPED)


def count_dead(subscription: WebhookSubscription) -> int:
    """One more message in a row was given up; answers how many."""
    WebhookSubscription.objects.filter(pk=subscription.pk).update(dead_in_row=F("dead_in_row") + 1)
    return subscription.dead_in_row + 1


def _end(message: WebhookMessage, state: WebhookMessage.State, reason: str) -> None:
    changed = WebhookMessage.objects.filter(pk=message.pk, state=State.PENDING).update(
        state=state, reason=reason, next_attempt_at=None, finished_at=Now()
    )
    if changed:
        _tell_ended(message, state, reason)


def _tell_ended(message: WebhookMessage, state: WebhookMessage.State, reason: str) -> None:
    _tell(
        message_ended,
        message_id=message.pk,
        subscription_id=message.subscription_id,
        state=str(state),
        reason=str(reason),
    )


def _tell(signal: Signal, **said: object) -> None:
    transaction.on_commit(partial(signal.send_robust, sender=None, **said), robust=True)
