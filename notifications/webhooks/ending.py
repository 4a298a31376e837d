"""The end of an attempt: its row, the message, the subscription. In the transaction that settles the job."""

from datetime import datetime
from functools import partial

from django.db import transaction

from hubqueue.querysets import database_now
from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.webhooks.begin import Flight
from notifications.webhooks.call import Ended
from notifications.webhooks.conf import conf
from notifications.webhooks.ladder import MOST_REFUSALS, asked_wait, wait_after
from notifications.webhooks.messages import arrived, bury, count_dead, disable, locked
from notifications.webhooks.outcomes import Off, Outcome
from notifications.webhooks.signals import attempt_ended


def write_down(flight: Flight, ended: Ended, *, using: str) -> datetime | None:
    """Write the attempt down and decide what follows: answers the moment of the next one, None = no more."""
    subscription = locked(flight.subscription_id)
    message = WebhookMessage.objects.filter(
        pk=flight.message_id, state=WebhookMessage.State.PENDING, ladder=flight.ladder
    ).first()
    if subscription is None:
        return None
    _close(flight, ended)
    WebhookSubscription.objects.filter(pk=subscription.pk).update(
        last_seconds=(subscription.last_seconds + ended.seconds) / 2
    )
    if message is None:
        return None
    message.attempts = flight.attempt
    message.refusals += ended.outcome is Outcome.REFUSED
    message.save(update_fields=["attempts", "refusals"])
    if ended.outcome is Outcome.DELIVERED:
        arrived(message)
        if not flight.is_test:
            WebhookSubscription.objects.filter(pk=subscription.pk).update(dead_in_row=0)
        return None
    moment = None if flight.is_test else _next(message, ended, database_now(using))
    if moment is None:
        _give_up(flight, message, subscription, ended.outcome)
    else:
        WebhookMessage.objects.filter(pk=message.pk).update(next_attempt_at=moment)
    return moment


def _close(flight: Flight, ended: Ended) -> None:
    WebhookDelivery.objects.filter(pk=flight.delivery_id).update(
        outcome=ended.outcome,
        code=ended.code,
        answer=ended.answer,
        answer_cut=ended.cut,
        seconds=ended.seconds,
    )
    transaction.on_commit(
        partial(
            attempt_ended.send_robust,
            sender=None,
            message_id=flight.message_id,
            subscription_id=flight.subscription_id,
            attempt=flight.attempt,
            outcome=str(ended.outcome),
            code=ended.code,
            seconds=ended.seconds,
        ),
        robust=True,
    )


def _next(message: WebhookMessage, ended: Ended, now: datetime) -> datetime | None:
    if ended.outcome is Outcome.GONE or message.refusals >= MOST_REFUSALS:
        return None
    wait = wait_after(message.attempts, asked_wait(ended.asked, now) if ended.asked else None)
    return None if wait is None else now + wait


def _give_up(
    flight: Flight, message: WebhookMessage, subscription: WebhookSubscription, outcome: Outcome
) -> None:
    bury(message, outcome)
    if outcome is Outcome.GONE:
        disable(subscription, Off.GONE, tell=True)
    elif not flight.is_test and count_dead(subscription) >= conf().webhooks_dead_in_row:
        disable(subscription, Off.FAILING, tell=True)
