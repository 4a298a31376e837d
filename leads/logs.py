"""The log line of a pass and of an import: numbers only."""

import logging
from typing import Any

from django.dispatch import receiver

from leads.signals import import_ended, pass_ended

logger = logging.getLogger("leads")


@receiver(pass_ended, dispatch_uid="leads.logs.pass")
def log_pass(*, kind: str, sender: object = None, signal: object = None, **counts: Any) -> None:
    said = " ".join(f"{name}={count}" for name, count in counts.items())
    level = logging.WARNING if counts["parked"] or counts["lost"] else logging.INFO
    logger.log(level, "%s %s", kind, said)


@receiver(import_ended, dispatch_uid="leads.logs.import")
def log_import(*, sender: object = None, signal: object = None, **counts: Any) -> None:
    said = " ".join(f"{name}={count}" for name, count in counts.items())
    logger.info("leads.import_registrations %s", said)
