"""How subscriptions, messages and attempts look, and what their pages say."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.template.defaultfilters import pluralize
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.webhooks.deliver_handler import has_job
from notifications.webhooks.ladder import ATTEMPTS
from notifications.webhooks.outcomes import SENTENCES, Outcome

LOOKS = {
    "active": "succeeded",
    "disabled": "parked",
    "pending": "due",
    "delivered": "succeeded",
    "held": "parked",
}


def pill(row: WebhookSubscription | WebhookMessage) -> SafeString:
    return cells.tag(row.get_state_display(), LOOKS.get(row.state, "dead"))


def host(subscription: WebhookSubscription) -> str:
    return urlsplit(subscription.url).hostname or ""


def why(reason: str) -> str:
    return SENTENCES.get(reason, reason)


def standing_of(subscription: WebhookSubscription, now: datetime) -> list[str]:
    """How a subscription stands, in sentences."""
    said = []
    if subscription.state == WebhookSubscription.State.DISABLED:
        said.append(f"Disabled: nothing is sent. {why(subscription.reason)}")
    else:
        said.append("Active: it is told of every event below.")
    if subscription.dead_in_row:
        said.append(f"Messages given up in a row: {subscription.dead_in_row}.")
    until = subscription.previous_until
    if until is not None and now < until:
        said.append(f"Messages are signed with the old secret too, until {until:%Y-%m-%d %H:%M} UTC.")  # fmt: skip
    return said


def standing_of_message(message: WebhookMessage, now: datetime) -> list[str]:
    match message.state:
        case WebhookMessage.State.PENDING if not has_job(message):
            return ["No job is there any more that would send it: replay it."]
        case WebhookMessage.State.PENDING if message.next_attempt_at and message.attempts:
            when = cells.relative(message.next_attempt_at - now)
            return [f"Attempt {message.attempts} of {ATTEMPTS} failed; the next one is due {when}."]
        case WebhookMessage.State.PENDING:
            return ["It waits for its first attempt."]
        case WebhookMessage.State.DELIVERED:
            return [why(Outcome.DELIVERED)]
        case WebhookMessage.State.HELD:
            return [
                "It waited when the archive was made that this installation comes from. The original may"
                " have sent it since.",
                "Nothing sends it until somebody releases it, and its subscription is active.",
            ]
    tried = f"{message.attempts} attempt{pluralize(message.attempts)}"
    return [f"Given up after {tried}. {why(message.reason)}"]


def rows_of(deliveries: Iterable[WebhookDelivery], now: datetime) -> list[dict[str, Any]]:
    """Attempts as the pages list them."""
    return [
        {
            "row": each,
            "when": cells.when(each.started_at, now),
            "pill": cells.tag(
                each.outcome.replace("_", " ").capitalize() or "Under way", _look(each)
            ),
            "why": why(each.outcome) if each.outcome else "",
            "took": _took(each.seconds),
        }
        for each in deliveries
    ]


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _look(delivery: WebhookDelivery) -> str:
    if not delivery.outcome:
        return "running"
    return "succeeded" if delivery.outcome == Outcome.DELIVERED else "dead"
