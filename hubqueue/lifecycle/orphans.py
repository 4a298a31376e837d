"""Sessions that lost their client keep their transaction and its locks until the server notices, which may take hours:
whoever lost one ends it."""

from threading import Lock
from weakref import ReferenceType, ref

import psycopg

from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.sql import sql

Session = psycopg.Connection[tuple[object, ...]]

_ours: dict[int, ReferenceType[Session]] = {}
_asking = Lock()


def remember(session: Session) -> None:
    """Know a fresh session by the process that serves it. Not for one behind a pooler, where that says nothing."""
    _ours[session.info.backend_pid] = ref(session)


def end_orphans(using: str) -> None:
    """End what is left of the sessions that this process has no more, however it lost or closed them.

    Costs nothing while it has all of them. Raises what the database does; then it is to be called again.
    """
    if not any(_is_gone(each) for each in list(_ours.values())):
        return
    with _asking:
        gone = [(pid, each) for pid, each in list(_ours.items()) if _is_gone(each)]
        with connection(using).cursor() as cursor:
            cursor.execute(sql("end_sessions"), {"pids": [pid for pid, _ in gone]})
        for pid, each in gone:
            if _ours.get(pid) is each:  # else the number serves a new session of ours
                del _ours[pid]


def _is_gone(session: ReferenceType[Session]) -> bool:
    held = session()
    return held is None or held.closed
