"""Sessions outside Django and outside every pool: for LISTEN and for the leader's lock."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psycopg
from django.db import connections
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from hubqueue.conf import conf
from hubqueue.lifecycle.database import alias

Raw = psycopg.Connection[tuple[Any, ...]]

# The client's bounds on every wait for the network.
BOUNDS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def parameters(name: str) -> dict[str, Any]:
    """What libpq needs to reach PostgreSQL itself: ``DIRECT_URL``, else what Django connects with.

    ``name`` is what ``pg_stat_activity`` shows as ``application_name``.
    """
    url = conf().direct_url
    given: Mapping[str, Any] = (
        conninfo_to_dict(url) if url else connections[alias()].get_connection_params()
    )
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    kept = {key: value for key, value in given.items() if key in known}
    if "," in str(kept.get("host", "")):
        kept.setdefault("target_session_attrs", "read-write")
    return {**BOUNDS, **kept, "application_name": name}


def open_session(name: str) -> Raw:
    """A session of its own, in autocommit. Nothing is set on it yet."""
    return psycopg.connect(**parameters(name), autocommit=True, prepare_threshold=None)


def is_pooled(session: "psycopg.Connection[Any]") -> bool:
    """Whether a pooler such as PgBouncer sits between: the server that answers is not the one we shook hands with.

    To be asked before anything is set or locked: in transaction mode both would stay behind on a server
    connection that belongs to somebody else a moment later.
    """
    row = session.execute("SELECT pg_backend_pid()").fetchone()
    return row is None or bool(row[0] != session.info.backend_pid)


def sever(session: "psycopg.Connection[Any] | None", *, cancel: bool = False) -> None:
    """End whatever waits on this session, from another thread. With ``cancel`` tell the server first."""
    if session is None or session.closed:
        return
    if cancel:
        with suppress(Exception):
            session.cancel_safe(timeout=0.3)
    with suppress(OSError, psycopg.Error):
        end = socket.socket(fileno=os.dup(session.fileno()))
        with end:
            end.shutdown(socket.SHUT_RDWR)
