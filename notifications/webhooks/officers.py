"""The officers' verbs. Each takes who and why, leaves a log entry, and refuses with a typed error."""

from datetime import datetime
from uuid import UUID

from django.db import router, transaction

from hubqueue.ids import uuid7
from hubqueue.models import Operation
from hubqueue.querysets import Now, database_now
from notifications.errors import SealBroken, WebhookVerbRefused
from notifications.models import WebhookMessage, WebhookSubscription
from notifications.webhooks.body import cloud_event
from notifications.webhooks.conf import conf
from notifications.webhooks.deliver_handler import deliver, first_attempt, has_job
from notifications.webhooks.events import PING
from notifications.webhooks.messages import disable as switch_off
from notifications.webhooks.messages import locked
from notifications.webhooks.outcomes import Off
from notifications.webhooks.sign import new_secret, sealed, unsealed

State = WebhookSubscription.State


@transaction.atomic
def rotate(subscription_id: UUID, *, since: datetime, actor: str, reason: str) -> str:
    """Give the subscription a new secret, and answer it: nobody can ask for it again.

    The old one signs beside it for ``WEBHOOKS_ROTATION_HOURS``, unless the key it was sealed with is lost.
    ``since`` is the ``rotated_at`` that the officer saw: refused when it has changed, for a form that is sent
    twice would lose the old secret.
    """
    subscription = _held(subscription_id)
    if subscription.rotated_at != since:
        raise WebhookVerbRefused(
            "the secret was changed meanwhile; look at the subscription again."
        )
    secret = new_secret()
    now = _now()
    old = _sealed_anew(subscription.secret)
    WebhookSubscription.objects.filter(pk=subscription.pk).update(
        secret=sealed(secret),
        previous_secret=old,
        previous_until=now + conf().rotation if old else None,
        rotated_at=now,
    )
    _log("rotate", subscription, actor, reason)
    return secret


@transaction.atomic
def send_test(subscription_id: UUID, *, actor: str, reason: str) -> UUID:
    """Send ``webhooks.ping`` once, disabled or not, the way every message goes; answers the message's id."""
    subscription = _held(subscription_id)
    event_id, now = uuid7(), _now()
    message = WebhookMessage.objects.create(
        subscription=subscription,
        tenant_id=subscription.tenant_id,
        event_type=PING,
        cause_id=str(event_id),
        body=cloud_event(event_id, PING, at=now, subject="", data={"test": True}),
        next_attempt_at=now,
    )
    deliver.enqueue_many([first_attempt(message.pk, tenant=subscription.tenant_id, ladder=1)])
    _log("test", subscription, actor, reason)
    return message.pk


@transaction.atomic
def enable(subscription_id: UUID, *, actor: str, reason: str) -> None:
    """Tell it of events from now on. What is dead stays dead until it is replayed."""
    subscription = _held(subscription_id)
    if subscription.state == State.ACTIVE:
        raise WebhookVerbRefused("the subscription is active already; there is nothing to enable.")
    WebhookSubscription.objects.filter(pk=subscription.pk).update(
        state=State.ACTIVE, reason="", disabled_at=None, dead_in_row=0
    )
    _log("enable", subscription, actor, reason)


@transaction.atomic
def disable(subscription_id: UUID, *, actor: str, reason: str) -> None:
    """Tell it of no more events. A message whose turn comes meanwhile is dead, and can be replayed."""
    subscription = _held(subscription_id)
    if subscription.state == State.DISABLED:
        raise WebhookVerbRefused(
            "the subscription is disabled already; there is nothing to disable."
        )
    switch_off(subscription, Off.BY_OFFICER, tell=False)
    _log("disable", subscription, actor, reason)


@transaction.atomic
def replay(message_id: UUID, *, actor: str, reason: str) -> None:
    """Send a dead message again, or one that lost its job: the same id, the same bytes, a new ladder of attempts."""
    found = WebhookMessage.objects.filter(pk=message_id)
    about = found.values_list("subscription", flat=True).first()
    subscription = None if about is None else _held(about)
    message = found.select_for_update(no_key=True).first()
    if subscription is None or message is None:
        raise WebhookVerbRefused("the message is gone; there is nothing to replay.")
    if subscription.state == State.DISABLED and message.event_type != PING:
        raise WebhookVerbRefused("the subscription is disabled; enable it first.")
    if message.state == WebhookMessage.State.HELD:
        raise WebhookVerbRefused("the message is on hold after a restore; release or drop it.")
    ladder = message.ladder + 1
    if message.state == WebhookMessage.State.DELIVERED or (
        message.state == WebhookMessage.State.PENDING and has_job(message)
    ):
        raise WebhookVerbRefused("only a dead message is replayed; this one is not dead.")
    found.update(
        state=WebhookMessage.State.PENDING,
        reason="",
        ladder=ladder,
        attempts=0,
        refusals=0,
        next_attempt_at=Now(),
        finished_at=None,
    )
    deliver.enqueue_many([first_attempt(message.pk, tenant=message.tenant_id, ladder=ladder)])
    _log("replay", subscription, actor, reason, target=f"webhook message {message.pk}")


def _held(subscription_id: UUID) -> WebhookSubscription:
    subscription = locked(subscription_id)
    if subscription is None:
        raise WebhookVerbRefused("the subscription is gone; there is nothing to act on.")
    return subscription


def _sealed_anew(kept: str) -> str:
    """With the present key, so that the one before it can go; empty for what cannot be read."""
    try:
        return sealed(unsealed(kept))
    except SealBroken:
        return ""


def _now() -> datetime:
    return database_now(router.db_for_write(WebhookSubscription))


def _log(
    verb: str, subscription: WebhookSubscription, actor: str, reason: str, *, target: str = ""
) -> None:
    Operation.objects.create(
        verb=f"webhooks.{verb}",
        target=(target or f"webhook subscription {subscription.pk}")[:200],
        actor=actor[:150],
        reason=reason[:200],
        at=_now(),
    )
