"""The log lines of this app: that a limit was passed. By whom stays unsaid."""

import logging
from typing import Any

from django.dispatch import receiver

from accounts.signals import asked

logger = logging.getLogger("accounts")


@receiver(asked, dispatch_uid="accounts.logs.asked")
def log_asked(*, outcome: str, **_: Any) -> None:
    if outcome != "taken":
        logger.warning("accounts.forgotten_limited by=%s", outcome)
