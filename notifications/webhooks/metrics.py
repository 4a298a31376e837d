"""What webhooks count, for Prometheus. Labels are codes, never a tenant, an id or an address."""

from typing import Any

from django.dispatch import receiver
from prometheus_client import Counter, Gauge, Histogram

from hubqueue.signals import scheduler_ticked
from notifications.webhooks.signals import attempt_ended, message_ended, subscription_disabled

ATTEMPTS = Histogram(
    "webhooks_attempt_seconds",
    "Attempts to call an endpoint, by how they ended.",
    ["outcome"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60),
)
MESSAGES = Counter(
    "webhooks_messages", "Messages that came to their end: delivered or dead.", ["state", "reason"]
)
DISABLED = Counter("webhooks_disabled", "Subscriptions that were disabled, by reason.", ["reason"])
BACKLOG = Gauge(
    "webhooks_retry_backlog",
    "Messages that failed and wait for their next attempt; of the leading scheduler, 0 elsewhere.",
    multiprocess_mode="livemax",
)


@receiver(attempt_ended, dispatch_uid="notifications.webhooks.metrics.attempt")
def count_attempt(*, outcome: str, seconds: float, **_: Any) -> None:
    ATTEMPTS.labels(outcome).observe(seconds)


@receiver(message_ended, dispatch_uid="notifications.webhooks.metrics.message")
def count_message(*, state: str, reason: str, **_: Any) -> None:
    MESSAGES.labels(state, reason).inc()


@receiver(subscription_disabled, dispatch_uid="notifications.webhooks.metrics.disabled")
def count_disabled(*, reason: str, **_: Any) -> None:
    DISABLED.labels(reason).inc()


@receiver(scheduler_ticked, dispatch_uid="notifications.webhooks.metrics.ticked")
def forget_backlog(*, leading: bool, **_: Any) -> None:
    """Who no longer leads publishes nothing."""
    if not leading:
        BACKLOG.set(0)
