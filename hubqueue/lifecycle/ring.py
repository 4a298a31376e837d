"""Ring the doorbell: tell idle workers that something is due. It carries no data; what is not rung is polled."""

import threading
import time
from collections.abc import Iterable

from django.db import transaction

from hubqueue.conf import conf
from hubqueue.lifecycle.database import connection

CHANNEL = "hubqueue:"

_lock = threading.Lock()
_rang: dict[tuple[str, str], float] = {}


def quiet(queues: Iterable[str], *, using: str) -> list[str]:
    """The queues whose bell was not rung from this process within ``bell_quiet``: ring these now."""
    horizon = time.monotonic() - conf().bell_quiet.total_seconds()
    with _lock:
        return [queue for queue in set(queues) if _rang.get((using, queue), 0.0) < horizon]


def rang(queues: Iterable[str], *, using: str) -> None:
    """Remember, once it is committed, that these bells rang."""

    def remember() -> None:
        now = time.monotonic()
        with _lock:
            for queue in queues:
                _rang[(using, queue)] = now

    transaction.on_commit(remember, using=using)


def ring_after_commit(queues: Iterable[str], *, using: str) -> None:
    """Ring once the caller's transaction is committed, unless somebody here did so in the meantime.

    Bells that fall into the quiet time are left to the workers' polling, which is fast after activity.
    """
    waiting = list(queues)

    def ring() -> None:
        due = quiet(waiting, using=using)
        if due:
            notify(due, using=using)

    transaction.on_commit(ring, using=using, robust=True)


def notify(queues: Iterable[str], *, using: str) -> None:
    """Ring now, in the caller's transaction: it sounds at its commit."""
    names = list(queues)
    with connection(using).cursor() as cursor:
        cursor.execute(
            "SELECT pg_notify(%s || queue, '') FROM unnest(%s::text[]) AS queue", [CHANNEL, names]
        )
    rang(names, using=using)
