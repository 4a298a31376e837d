"""Pollers: a self-repeating job that owes a moment and has no unfinished job is enqueued again, and counted."""

import logging
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction

from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.enqueue import Outcome
from hubqueue.lifecycle.failure import broken_by
from hubqueue.models import Job
from hubqueue.registry import Poller
from hubqueue.scheduler.errors import PartlyFailed
from hubqueue.scheduler.sessions import wait_no_longer
from hubqueue.signals import poller_reseeded

PATIENCE = timedelta(seconds=2)

log = logging.getLogger("hubqueue.scheduler")


def reseed(pollers: Iterable[Poller], *, using: str) -> int:
    """Enqueue every poller that owes a moment and has no unfinished job; answer how many those were.

    Raises ``PartlyFailed`` after all were looked at when one could not be.
    """
    known = list(pollers)
    enqueued, failed = 0, 0
    for poller in known:
        try:
            enqueued += _reseed_one(poller, using=using)
        except Exception as raised:
            failed += 1
            log.warning("poller %s failed: %s", poller.handler.kind, broken_by(raised).code)
            if not connection(using).is_usable():
                raise
    if failed:
        raise PartlyFailed(f"{failed} of {len(known)} pollers failed")
    return enqueued


def _reseed_one(poller: Poller, *, using: str) -> bool:
    if poller.owes() is None or _stands(poller, using=using):
        return False
    # It may have run to its end between the two questions: then it owes nothing any more.
    moment = poller.owes()
    if moment is None:
        return False
    handler = poller.handler
    with transaction.atomic(using=using):
        wait_no_longer(PATIENCE, using=using)
        answer = handler.using(dedupe_key=poller.dedupe_key, run_at=moment).enqueue()
    if answer.outcome is not Outcome.NEW:
        return False
    log.warning("poller %s had died and was enqueued again", handler.kind)
    poller_reseeded.send_robust(sender=None, kind=handler.kind, queue=handler.queue)
    return True


def _stands(poller: Poller, *, using: str) -> bool:
    kinds = [poller.handler.kind, *poller.handler.aliases]
    return any(
        Job.objects.using(using).unfinished_with_key(kind, poller.dedupe_key).exists()
        for kind in kinds
    )
