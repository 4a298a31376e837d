"""How a worker's database sessions are set up: named, checked for a vanished client, in READ COMMITTED."""

from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from django.db import connections
from django.db.backends.signals import connection_created
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from hubqueue.conf import conf
from hubqueue.lifecycle.database import alias

KEEPALIVE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
CLIENT_CHECK_SINCE = 140_000


def session_name(worker: UUID) -> str:
    """The ``application_name`` of every connection of a worker: how others see whether it lives."""
    return f"hubqueue-{worker}"


def name_sessions(name: str) -> None:
    """From now on this process connects to the queue's database under ``name``. Call before the first connection."""
    options = connections.settings[alias()].setdefault("OPTIONS", {})
    for key, value in {**KEEPALIVE, "application_name": name}.items():
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


def is_pooled(session: "psycopg.Connection[Any]") -> bool:
    """Whether a pooler such as PgBouncer sits between: it answers connecting with a process id of its own."""
    cursor = session.execute("SELECT pg_backend_pid()")
    row = cursor.fetchone()
    return row is None or row[0] != session.info.backend_pid


def connect_directly(name: str) -> "psycopg.Connection[Any]":
    """A connection of its own, never from a pool: to DIRECT_URL where set, else where Django connects."""
    deadline = round(conf().statement_deadline.total_seconds() * 1000)
    session = psycopg.connect(
        **(KEEPALIVE | _address() | {"application_name": name}), autocommit=True
    )
    session.prepare_threshold = None
    with suppress(psycopg.Error):
        if not is_pooled(session):
            session.execute(f"SET statement_timeout = {deadline}")
    return session


def _address() -> dict[str, Any]:
    """What libpq needs to connect: DIRECT_URL, else Django's parameters without those that are Django's own."""
    if conf().direct_url:
        return dict(conninfo_to_dict(conf().direct_url or ""))
    keywords = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    given = connections[alias()].get_connection_params()
    return {key: value for key, value in given.items() if key in keywords}
