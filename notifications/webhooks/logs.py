"""The log lines of webhooks: ids, codes and numbers."""

import logging
from typing import Any

from django.dispatch import receiver

from notifications.webhooks.outcomes import Outcome
from notifications.webhooks.signals import attempt_ended, message_ended, subscription_disabled

logger = logging.getLogger("notifications.webhooks")


@receiver(attempt_ended, dispatch_uid="notifications.webhooks.logs.attempt")
def log_attempt(
    *, message_id: object, subscription_id: object, attempt: int, outcome: str, code: int | None,
    seconds: float, **_: Any,
) -> None:  # fmt: skip
    level = logging.INFO if outcome == Outcome.DELIVERED else logging.WARNING
    logger.log(
        level,
        "webhook attempt message=%s subscription=%s attempt=%s outcome=%s code=%s seconds=%.3f",
        message_id, subscription_id, attempt, outcome, code or "-", seconds,
    )  # fmt: skip


@receiver(message_ended, dispatch_uid="notifications.webhooks.logs.message")
def log_message(
    *, message_id: object, subscription_id: object, state: str, reason: str, **_: Any
) -> None:
    if reason:
        logger.warning(
            "webhook message=%s subscription=%s %s reason=%s",
            message_id, subscription_id, state, reason,
        )  # fmt: skip


@receiver(subscription_disabled, dispatch_uid="notifications.webhooks.logs.disabled")
def log_disabled(*, subscription_id: object, reason: str, **_: Any) -> None:
    logger.warning("webhook subscription=%s disabled reason=%s", subscription_id, reason)
