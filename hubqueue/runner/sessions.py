"""How a worker's database sessions are set up: named, checked for a vanished client, in READ COMMITTED."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.backends.signals import connection_created

from hubqueue.direct import BOUNDS, is_pooled
from hubqueue.lifecycle.database import alias

CLIENT_CHECK_SINCE = 140_000


def session_name(worker: UUID) -> str:
    """The ``application_name`` of every connection of a worker: how others see whether it lives."""
    return f"hubqueue-{worker}"


def name_sessions(name: str) -> None:
    """From now on this process connects to the queue's database under ``name``. Call before the first connection."""
    options = connections.settings[alias()].setdefault("OPTIONS", {})
    for key, value in {**BOUNDS, "application_name": name}.items():
        options[key] = value if key == "application_name" else options.get(key, value)
    connection_created.connect(_prepare, dispatch_uid="hubqueue.runner.sessions")


def set_deadline(deadline: timedelta) -> None:
    """Bound every statement of this thread's connection: for threads that run the engine's own statements."""
    _deadlines[_thread_key()] = deadline


_deadlines: dict[int, timedelta] = {}


def _thread_key() -> int:
    return id(connections[alias()])


def _prepare(sender: Any, connection: Any, **kwargs: Any) -> None:
    """Settings of a fresh session. Not behind a pooler: there they would stick to a session of others."""
    if connection.alias != alias():
        return
    with connection.cursor() as cursor:
        if is_pooled(connection.connection):
            return
        cursor.execute("SET default_transaction_isolation = 'read committed'")
        if connection.pg_version >= CLIENT_CHECK_SINCE:
            cursor.execute("SET client_connection_check_interval = '2s'")
        deadline = _deadlines.get(id(connection))
        if deadline is not None:
            cursor.execute(f"SET statement_timeout = {round(deadline.total_seconds() * 1000)}")
