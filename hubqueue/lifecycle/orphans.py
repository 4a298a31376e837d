"""Sessions that lost their client keep their transaction and its locks until the server notices, which may take hours:
whoever lost one ends it."""

import logging
from collections.abc import Mapping
from threading import Lock
from typing import Any
from weakref import ReferenceType, ref

import psycopg
from django.db import ProgrammingError, transaction

from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.sql import sql

log = logging.getLogger(__name__)

Session = psycopg.Connection[tuple[object, ...]]
FORBIDDEN = "42501"

_ours: dict[int, ReferenceType[Session]] = {}
_asking = Lock()


def remember(session: Session) -> None:
    """Know a fresh session by the process that serves it. Not for one behind a pooler, where that says nothing."""
    _ours[session.info.backend_pid] = ref(session)


def end_orphans(using: str) -> None:
    """End what is left of the sessions that this process has no more, however it lost or closed them.

    Costs nothing while it has all of them, and waits for no other thread that does the same. Raises what the
    database does; then it is to be called again.
    """
    if not any(_is_gone(each) for each in list(_ours.values())):
        return
    if not _asking.acquire(blocking=False):
        return
    try:
        gone = [(pid, each) for pid, each in list(_ours.items()) if _is_gone(each)]
        terminate("end_sessions", {"pids": [pid for pid, _ in gone]}, using=using)
        for pid, each in gone:
            if _ours.get(pid) is each:  # else the number serves a new session of ours
                del _ours[pid]
    finally:
        _asking.release()


def forget() -> None:
    """In a copy of a process: the sessions are the other one's."""
    global _asking
    _asking = Lock()
    _ours.clear()


def terminate(statement: str, values: Mapping[str, Any], *, using: str) -> None:
    """Run a named statement that ends sessions. A server that lets nobody do that is left to its own timeouts."""
    try:
        with transaction.atomic(using=using), connection(using).cursor() as cursor:
            cursor.execute(sql(statement), values)
    except ProgrammingError as raised:
        if getattr(raised.__cause__, "sqlstate", None) != FORBIDDEN:
            raise
        log.warning(
            "this role may not execute pg_terminate_backend: what a lost session has locked stays locked until the"
            " server ends it"
        )


def _is_gone(session: ReferenceType[Session]) -> bool:
    held = session()
    return held is None or held.closed
