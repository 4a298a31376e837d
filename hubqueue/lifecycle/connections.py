"""Telling a lost connection from a failed statement, and letting go of connections that cannot be trusted."""

from contextlib import suppress

from django.db import Error, connections

# Too many clients, a server that only reads (a demoted primary), a session ended for idling in a transaction.
NOT_THE_WORK = frozenset({"53300", "25006", "25P03"})


def is_connection_loss(raised: BaseException, using: str) -> bool:
    """Whether the queue's own connection, not the handler's work, is what failed."""
    if not _is_database_error(raised):
        return False
    sqlstate = _sqlstate(raised)
    if sqlstate.startswith(("08", "57P")) or sqlstate in NOT_THE_WORK:
        return True
    held = connections[using].connection
    return held is None or bool(held.closed or held.broken)


def discard(using: str) -> None:
    """Close this thread's connection for good, whatever is going on over it."""
    connection = connections[using]
    connection.in_atomic_block = False
    connection.savepoint_ids = []
    connection.needs_rollback = False
    connection.run_on_commit = []
    with suppress(Exception):
        connection.close()
    connection.connection = None
    connection.closed_in_transaction = False


def _is_database_error(raised: BaseException | None) -> bool:
    for _ in range(5):
        if raised is None:
            return False
        if isinstance(raised, Error):
            return True
        raised = raised.__cause__ or raised.__context__
    return False


def _sqlstate(raised: BaseException | None) -> str:
    for _ in range(5):
        if raised is None:
            break
        state = getattr(raised, "sqlstate", None)
        if isinstance(state, str):
            return state
        raised = raised.__cause__ or raised.__context__
    return ""
