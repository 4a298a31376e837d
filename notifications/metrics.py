"""What the notifications app counts, for Prometheus. Labels are registered categories, states and codes."""

from typing import Any

from django.dispatch import receiver
from prometheus_client import Counter, Histogram

from notifications.categories import categories
from notifications.signals import delivery_ended, mail_tried, sender_paused

ENDED = Counter(
    "notifications_ended", "Messages that came to an end", ["category", "state", "reason"]
)
SEND_SECONDS = Histogram(
    "notifications_send_seconds", "Handing a message to the mail server", ["outcome"]
)
PAUSES = Counter("notifications_sender_pauses", "Refusals that made all mail wait", ["code"])


@receiver(delivery_ended, dispatch_uid="notifications.metrics.ended")
def count_ended(*, category: str, state: str, reason: str, count: int = 1, **_: Any) -> None:
    known = any(each.name == category for each in categories())
    ENDED.labels(category if known else "unknown", state, reason).inc(count)


@receiver(mail_tried, dispatch_uid="notifications.metrics.tried")
def count_tried(*, outcome: str, seconds: float, **_: Any) -> None:
    SEND_SECONDS.labels(outcome).observe(seconds)


@receiver(sender_paused, dispatch_uid="notifications.metrics.paused")
def count_paused(*, code: str, **_: Any) -> None:
    PAUSES.labels(code).inc()
