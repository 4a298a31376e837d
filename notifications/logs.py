"""The log lines of mail: codes and numbers, never a name, an address or what a server wrote."""

import logging
from typing import Any

from django.dispatch import receiver

from notifications.signals import delivery_ended, mail_tried, sender_paused, sender_resumed

logger = logging.getLogger("notifications")


@receiver(delivery_ended, dispatch_uid="notifications.logs.ended")
def log_ended(*, category: str, state: str, reason: str, count: int = 1, **_: Any) -> None:
    level = logging.WARNING if state == "failed" else logging.INFO
    logger.log(level, "%s %s %s %d", category, state, reason or "-", count)


@receiver(mail_tried, dispatch_uid="notifications.logs.tried")
def log_tried(*, outcome: str, seconds: float, stage: str, reply: int | None, **_: Any) -> None:
    if outcome != "sent":
        said = reply if reply is not None else "-"
        logger.warning("%s at %s, reply %s, after %.3f s", outcome, stage or "-", said, seconds)


@receiver(sender_paused, dispatch_uid="notifications.logs.paused")
def log_paused(*, code: str, kinds: list[str], seconds: float, **_: Any) -> None:
    logger.error("mail waits: %s; %d kinds paused, next look in %.0f s", code, len(kinds), seconds)


@receiver(sender_resumed, dispatch_uid="notifications.logs.resumed")
def log_resumed(*, kinds: list[str], **_: Any) -> None:
    logger.warning("mail goes on: %d kinds resumed", len(kinds))
