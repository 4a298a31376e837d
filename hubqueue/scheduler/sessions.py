"""How the scheduler connects: the leader's own session, and Django's connections in this process.

Every wait has an end on both sides. The server bounds statements and idle times; the client bounds the
connection (``connect_timeout``), unacknowledged bytes (TCP user timeout), and by ``Deadline`` an answer that
never comes although the network says all is well.
"""

import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from psycopg.conninfo import conninfo_to_dict

from hubqueue.conf import conf
from hubqueue.direct import BOUNDS, Raw, sever
from hubqueue.lifecycle.database import alias

APPLICATION = "hubqueue-scheduler"
T = TypeVar("T")


def limits(deadline: timedelta) -> dict[str, str]:
    """The settings every session of the scheduler gets once it is known to be a session."""
    return {
        "statement_timeout": milliseconds(deadline),
        "lock_timeout": milliseconds(deadline),
        "idle_in_transaction_session_timeout": milliseconds(deadline * 2),
        "default_transaction_isolation": "read committed",
        "client_connection_check_interval": "1000",
    }


def milliseconds(length: timedelta) -> str:
    """A length of time as PostgreSQL's settings take it."""
    return str(max(1, round(length.total_seconds() * 1000)))


def harden(using: str) -> None:
    """Bound Django's connections to ``using`` in this process, and let them go past a pooler.

    For the scheduler's own process only: it changes the connection settings of the whole process.
    """
    settings = connections.settings[using]
    options = {key: value for key, value in settings["OPTIONS"].items() if key != "pool"}
    if url := conf().direct_url:
        direct: dict[str, Any] = dict(conninfo_to_dict(url))
        for key, name in DJANGO_NAMES.items():
            settings[key] = str(direct.pop(name, ""))
        options = {key: value for key, value in options.items() if key not in direct} | direct
    settings["OPTIONS"] = {**BOUNDS, **options, "application_name": APPLICATION}
    settings["CONN_MAX_AGE"] = None
    connection_created.connect(_limit_created, dispatch_uid="hubqueue.scheduler")


DJANGO_NAMES = {
    "NAME": "dbname",
    "USER": "user",
    "PASSWORD": "password",
    "HOST": "host",
    "PORT": "port",
}


def _limit_created(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.alias == alias():
        apply(connection, limits(conf().statement_deadline))


def apply(connection: BaseDatabaseWrapper, settings: Mapping[str, str]) -> None:
    """Set session settings over one of Django's connections."""
    with connection.cursor() as cursor:
        cursor.execute(SET, [list(settings), list(settings.values())])


def bounded(call: Callable[[], T], deadline: timedelta, *, using: str) -> T:
    """Make a call whose statements over this thread's connection end within ``deadline`` each."""
    session = connections[using].connection
    if session is None or session.closed or _bounds.get(session) != deadline:
        apply(connections[using], {"statement_timeout": milliseconds(deadline)})
        _bounds[connections[using].connection] = deadline
    return call()


# What each session was told last: most calls have the same deadline.
_bounds: WeakKeyDictionary[Any, timedelta] = WeakKeyDictionary()


def wait_no_longer(length: timedelta, *, using: str) -> None:
    """In the open transaction, wait for nobody's row lock for longer than ``length``."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [milliseconds(length)])


SET = "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS given (name, value)"


class Deadline:
    """with Deadline(session, timedelta(seconds=5)): the session is severed when the block takes longer."""

    def __init__(self, raw: Raw, length: timedelta) -> None:
        self._timer = threading.Timer(length.total_seconds(), sever, [raw])
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
