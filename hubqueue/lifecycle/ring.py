"""Ring the doorbell: tell idle workers that something is due. It carries no data; what is not rung is polled."""

import threading
import time
from collections.abc import Collection, Iterable

from django.db import transaction

from hubqueue.conf import conf
from hubqueue.lifecycle.database import connection

CHANNEL = "hubqueue:"

# A process that rang less than so many seconds ago rings often.
SELDOM = 1.0

_lock = threading.Lock()
_rang: dict[tuple[str, str], float] = {}


def may_ring(queues: Iterable[str], *, alone: bool, using: str) -> list[str]:
    """The queues whose bell may ring within the enqueue's statement, which is its own transaction when ``alone``.

    PostgreSQL lets transactions that ring commit one by one, each with its wait for the disk. So a process that
    rings often rings after a longer transaction, by a statement that has nothing to wait for.
    """
    seconds = _quiet_time() if alone else max(SELDOM, _quiet_time())
    return _silent_for(seconds, queues, using)


def rang(queues: Collection[str], *, using: str) -> None:
    """Remember, once it is committed, that these bells rang."""

    def remember() -> None:
        now = time.monotonic()
        with _lock:
            for queue in queues:
                _rang[(using, queue)] = now

    if queues:
        transaction.on_commit(remember, using=using)


def ring_after_commit(queues: Iterable[str], *, using: str) -> None:
    """Ring once the caller's transaction is committed, unless somebody here did so in the meantime.

    Bells that fall into the quiet time are left to the workers' polling, which is fast after activity.
    """
    waiting = list(queues)

    def ring() -> None:
        due = _silent_for(_quiet_time(), waiting, using)
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


def forget() -> None:
    """In a copy of a process: a thread that is not there may have held the lock."""
    global _lock
    _lock = threading.Lock()


def _quiet_time() -> float:
    return conf().bell_quiet.total_seconds()


def _silent_for(seconds: float, queues: Iterable[str], using: str) -> list[str]:
    """The queues whose bell this process did not ring for so long."""
    horizon = time.monotonic() - seconds
    with _lock:
        return [queue for queue in set(queues) if _rang.get((using, queue), 0.0) < horizon]
