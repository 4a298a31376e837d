"""How a worker's database sessions are set up: named, checked for a vanished client, in READ COMMITTED."""

from collections import deque
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.backends.signals import connection_created
from psycopg import IsolationLevel

from hubqueue.conf import conf
from hubqueue.direct import BOUNDS, is_pooled
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.orphans import remember
from hubqueue.registry import registry

TRANSACTION_TIMEOUT_SINCE = 170_000
MOST_MILLISECONDS = 2**31 - 1
KEPT_STATEMENTS = 50


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
    """Settings of a fresh session. Not behind a pooler: there they would stick to a session of others.

    What the role, the database or the server say about isolation and idling was meant for others.
    """
    # With DEBUG Django keeps the last 9000 statements with their values: in a process that never ends a request,
    # for ever.
    connection.queries_log = deque(connection.queries_log, maxlen=KEPT_STATEMENTS)
    if connection.alias != alias():
        return
    # Said by each BEGIN, so it holds behind a pooler too, and against what Django's OPTIONS say.
    connection.connection.isolation_level = IsolationLevel.READ_COMMITTED
    with connection.cursor() as cursor:
        if is_pooled(connection.connection):
            return
        remember(connection.connection)
        settings = _settings(connection)
        cursor.execute(
            "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS given (name, value)",
            [list(settings), list(settings.values())],
        )


def _settings(connection: Any) -> dict[str, str]:
    deadline = _deadlines.get(id(connection))
    settings = {
        "default_transaction_isolation": "read committed",
        "client_connection_check_interval": "2s",
        # A session that ends while its handler computes is no fault of the job: such an attempt is unspent, and
        # the next would end there again. What bounds a handler is its timeout, and here that of the slowest.
        "idle_in_transaction_session_timeout": _milliseconds(_longest_pause(deadline)),
        "idle_session_timeout": "0",
    }
    if connection.pg_version >= TRANSACTION_TIMEOUT_SINCE:
        settings["transaction_timeout"] = "0"
    if deadline:
        settings["statement_timeout"] = _milliseconds(deadline)
    return settings


def _longest_pause(deadline: timedelta | None) -> timedelta:
    """After so long the server may end the transaction of a worker that stands still: that of the slowest handler,
    and far sooner where none runs."""
    if deadline:
        return max(conf().transactional_timeout, 2 * deadline)
    timeouts = [each.timeout for each in registry.handlers.values()]
    return max([conf().transactional_timeout, *timeouts]) + conf().settle_grace


def _milliseconds(length: timedelta) -> str:
    return str(min(round(length.total_seconds() * 1000), MOST_MILLISECONDS))
