"""The log lines of this app: that a limit was passed. By whom stays unsaid."""

import logging
from typing import Any

from django.dispatch import receiver

from accounts.signals import asked, login_tried

logger = logging.getLogger("accounts")


@receiver(asked, dispatch_uid="accounts.logs.asked")
def log_asked(*, outcome: str, **_: Any) -> None:
    if outcome != "taken":
        logger.warning("accounts.forgotten_limited by=%s", outcome)


@receiver(login_tried, dispatch_uid="accounts.logs.login_tried")
def log_login(*, outcome: str, **_: Any) -> None:
    if outcome not in {"taken", "wrong"}:
        logger.warning("accounts.login_barred by=%s", outcome)
