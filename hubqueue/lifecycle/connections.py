"""Telling a lost connection from a failed statement, and letting go of connections that cannot be trusted."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from select import POLLIN, poll
from time import monotonic
from typing import Any

from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import OperationalError
from psycopg.pq import TransactionStatus

from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.opening import open_together

UNBROKEN = (TransactionStatus.IDLE, TransactionStatus.INTRANS)
# Too many clients, a server that only reads (a demoted primary), a session ended for idling in a transaction.
NOT_THE_WORK = frozenset({"53300", "25006", "25P03"})
NOT_TAKEN = frozenset({"53300", "25006"})
# A session that the thread did not use for so many seconds, or that a pool gave it, is looked at before it is used. A
# look gives the interpreter's lock away, which is too much for each of a thousand jobs a second.
IDLE_FOR = 1.0
# A pool may hand out one ended session after the other.
ENDED_AT_MOST = 20

_began = threading.local()
_NEVER = (None, 0.0)


def begin(using: str, *, idle_for: float = IDLE_FOR) -> None:
    """Remember the physical connection that an attempt, or paying what it owes, begins with, and let its first
    statement bring BEGIN along. One that the server ended while it idled gives way to a fresh one, if it was not used
    for ``idle_for`` seconds.

    When ``atomic()`` ends over a lost connection, Django opens a new one: the present one tells nothing then.
    """
    connection = connections[using]
    now = monotonic()
    _connect(connection)
    known, began_at = getattr(_began, using, _NEVER)
    if connection.connection is not known or now - began_at > idle_for:
        _replace_ended(connection)
    if connection.connection is not None:
        open_together(connection.connection)
    setattr(_began, using, (connection.connection, now))


def _connect(connection: BaseDatabaseWrapper) -> None:
    if connection.connection is None:
        with suppress(Error):
            connection.ensure_connection()


def _replace_ended(connection: BaseDatabaseWrapper) -> None:
    for _ in range(ENDED_AT_MOST):
        if connection.in_atomic_block or not _ended_while_idle(connection):
            return
        discard(connection.alias)
        _connect(connection)


def is_connection_loss(raised: BaseException, using: str) -> bool:
    """Whether the queue's own connection, not the handler's work, is what failed."""
    if not _is_database_error(raised):
        return False
    if _sqlstate(raised) in NOT_THE_WORK:
        return True
    began_with, _ = getattr(_began, using, _NEVER)
    return _is_gone(connections[using].connection) or bool(began_with and began_with.broken)


def broke(raised: BaseException, using: str) -> bool:
    """Whether a connection that stood was lost: not one that the server did not take, nor a server that only reads."""
    return (
        is_connection_loss(raised, using)
        and getattr(_began, using, _NEVER)[0] is not None
        and _sqlstate(raised) not in NOT_TAKEN
        and not any(getattr(each, "pgconn", None) for each in _chain(raised))
    )


def may_commit(connection: BaseDatabaseWrapper) -> bool:
    """Whether a COMMIT sent now does just what the end of the ``atomic()`` block we are in would do: the block is the
    outermost, nothing is broken, and no other was left open in it."""
    return (
        connection.connection is not None
        and connection.in_atomic_block
        and connection.commit_on_exit
        and not connection.savepoint_ids
        and not connection.needs_rollback
        and connection.connection.info.transaction_status in UNBROKEN
    )


def is_left_open(using: str) -> bool:
    """Whether this thread's connection is inside a transaction, Django's or one begun behind its back."""
    return left_open(connections[using])


def left_open(connection: BaseDatabaseWrapper) -> bool:
    """The same of a connection at hand."""
    held = connection.connection
    if held is None or held.closed:
        return False
    return (
        connection.in_atomic_block
        or not connection.autocommit
        or held.pgconn.transaction_status != TransactionStatus.IDLE
    )


def _ended_while_idle(connection: BaseDatabaseWrapper) -> bool:
    """Whether the server's last words lie unread. Asks nobody but the socket, and says nothing of a silent network."""
    held = connection.connection
    if held is None or held.closed or left_open(connection):
        return False
    unread = poll()
    unread.register(held.fileno(), POLLIN)
    try:
        while unread.poll(0):
            held.pgconn.consume_input()  # notices and notifications are kept for whoever waits for them
    except OperationalError:
        return True
    return False


def _is_gone(held: Any) -> bool:
    return held is None or bool(held.closed or held.broken)


@contextmanager
def dedicated_connection(using: str | None = None) -> Iterator[BaseDatabaseWrapper]:
    """A separate connection, outside every pool, closed at the end: for a snapshot that must stay open.

    It is in autocommit like any of Django's; open the transaction that holds the snapshot yourself.
    """
    standing = connections[using or alias()]
    settings = deepcopy(standing.settings_dict)
    settings.get("OPTIONS", {}).pop("pool", None)
    made = type(standing)(settings, standing.alias)
    try:
        yield made
    finally:
        made.close()


def discard(using: str) -> None:
    """Close this thread's connection for good, whatever is going on over it."""
    connection = connections[using]
    connection.in_atomic_block = False
    connection.savepoint_ids = []
    connection.needs_rollback = False
    connection.run_on_commit = []
    if connection.connection is not None:
        with suppress(Exception):
            # First by itself: a pool would hand it to the next thread, with what was set on it.
            connection.connection.close()
    with suppress(Exception):
        connection.close()
    connection.connection = None
    connection.closed_in_transaction = False


def _is_database_error(raised: BaseException) -> bool:
    return any(isinstance(each, Error) for each in _chain(raised))


def _sqlstate(raised: BaseException) -> str:
    for each in _chain(raised):
        state = getattr(each, "sqlstate", None)
        if isinstance(state, str):
            return state
    return ""


def _chain(raised: BaseException | None) -> Iterator[BaseException]:
    """An exception and what is behind it."""
    for _ in range(5):
        if raised is None:
            break
        yield raised
        raised = raised.__cause__ or raised.__context__
