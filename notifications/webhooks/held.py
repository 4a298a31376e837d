"""Webhook messages that a restore set aside: nothing sends them until an officer releases them, or drops them."""

from collections.abc import Sequence
from uuid import UUID

from django.db import models, router, transaction
from django.db.models import F, Q

from hubqueue.models import Operation
from hubqueue.querysets import Now, database_now
from notifications.errors import HeldRefused
from notifications.models import WebhookMessage, WebhookSubscription
from notifications.webhooks.deliver_handler import deliver, first_attempt
from notifications.webhooks.events import PING
from notifications.webhooks.messages import bury_held

State = WebhookMessage.State
MOST_AT_ONCE = 10_000
BATCH = 1_000
# A test is sent to a disabled subscription too.
CALLED = Q(subscription__state=WebhookSubscription.State.ACTIVE) | Q(event_type=PING)


@transaction.atomic
def release(message_id: UUID, *, actor: str, reason: str) -> None:
    """Send it after all: the same id, the same bytes, a new ladder of attempts.

    Raises ``HeldRefused`` for one that is gone or not held, or whose subscription is disabled.
    """
    message = _locked(message_id)
    if not can_be_called(message):
        raise HeldRefused("the subscription is disabled; enable it first.")
    _send([message])
    _enter("release", f"webhook message {message.pk}", actor, reason)


@transaction.atomic
def drop(message_id: UUID, *, actor: str, reason: str) -> None:
    """It is dead. Raises ``HeldRefused`` for one that is gone or not held."""
    message = _locked(message_id)
    bury_held([message])
    _enter("drop", f"webhook message {message.pk}", actor, reason)


@transaction.atomic
def release_all(*, actor: str, reason: str) -> int:
    """Release the oldest ``MOST_AT_ONCE`` whose subscriptions are active, in one transaction; answers how many."""
    messages = list(_held().filter(CALLED).order_by("pk")[:MOST_AT_ONCE])
    for start in range(0, len(messages), BATCH):
        _send(messages[start : start + BATCH])
    _enter("release", f"webhook messages on hold: {len(messages)}", actor, reason)
    return len(messages)


@transaction.atomic
def drop_all(*, actor: str, reason: str) -> int:
    """Drop the oldest ``MOST_AT_ONCE`` in one transaction; answers how many there were."""
    messages = list(_held().order_by("pk")[:MOST_AT_ONCE])
    bury_held(messages)
    _enter("drop", f"webhook messages on hold: {len(messages)}", actor, reason)
    return len(messages)


def can_be_called(message: WebhookMessage) -> bool:
    """Whether its subscription stands in the way no more."""
    return WebhookMessage.objects.filter(CALLED, pk=message.pk).exists()


def _held() -> "models.QuerySet[WebhookMessage]":
    """Their rows are held until the transaction ends: no delivery asks for them, so that is enough."""
    rows = WebhookMessage.objects.filter(state=State.HELD).defer("body")
    return rows.select_for_update(no_key=True, of=("self",))


def _locked(message_id: UUID) -> WebhookMessage:
    message = _held().filter(pk=message_id).first()
    if message is None:
        raise HeldRefused("the message is gone or not on hold; there is nothing to let go.")
    return message


def _send(messages: Sequence[WebhookMessage]) -> None:
    """A job that the copied installation had for it is one of an older ladder, and does nothing."""
    WebhookMessage.objects.filter(pk__in=[each.pk for each in messages]).update(
        state=State.PENDING,
        reason="",
        ladder=F("ladder") + 1,
        attempts=0,
        refusals=0,
        next_attempt_at=Now(),
    )
    deliver.enqueue_many(
        first_attempt(each.pk, tenant=each.tenant_id, ladder=each.ladder + 1) for each in messages
    )


def _enter(verb: str, target: str, actor: str, reason: str) -> None:
    Operation.objects.create(
        verb=f"webhooks.{verb}",
        target=target,
        actor=actor[:150],
        reason=reason[:200],
        at=database_now(router.db_for_write(Operation)),
    )
