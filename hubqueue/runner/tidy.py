"""Leave a thread's connections fit for the next attempt."""

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from hubqueue.lifecycle.connections import discard, left_open


def tidy(*, distrust: bool) -> None:
    """Give pooled connections back, close the broken ones; others are kept for the next attempt.

    After an interrupt all are discarded: a cancel may still be on its way. So are those that a handler
    left inside a transaction: in there, nothing of the next attempt would ever be committed.
    """
    for connection in connections.all(initialized_only=True):
        try:
            if distrust or left_open(connection):
                discard(connection.alias)
            elif _is_pooled(connection) or (
                connection.errors_occurred and not connection.is_usable()
            ):
                connection.close()
        except Exception:
            discard(connection.alias)
        connection.errors_occurred = False


def _is_pooled(connection: BaseDatabaseWrapper) -> bool:
    return bool(connection.settings_dict.get("OPTIONS", {}).get("pool"))
