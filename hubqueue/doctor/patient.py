"""What is examined, and the two ways to its database: the one Django takes, and the direct one of LISTEN."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from hubqueue.aside import BY_INDEX, own_connection
from hubqueue.conf import Conf, conf
from hubqueue.direct import Raw, parameters
from hubqueue.lifecycle.database import alias
from hubqueue.registry import Registry, registry

NAME = "hubqueue-doctor"
STATEMENT = timedelta(seconds=2)
CONNECT = 2


def _conf() -> Conf:
    """The settings, or the defaults where they cannot be read: another probe says so."""
    try:
        return conf()
    except ImproperlyConfigured:
        return Conf()


def _utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Patient:
    """An installation of the queue. ``processes`` and ``threads`` are those of the worker that should fit in."""

    using: str = field(default_factory=alias)
    conf: Conf = field(default_factory=_conf)
    registry: Registry = registry
    processes: int = 1
    threads: int = 4
    clock: Callable[[], datetime] = _utc

    @property
    def settings(self) -> dict[str, Any]:
        """The entry of ``DATABASES``."""
        found: dict[str, Any] = connections[self.using].settings_dict
        return found

    @property
    def has_direct_url(self) -> bool:
        return bool(self.conf.direct_url)

    @property
    def async_connections(self) -> int:
        """How many connections the ``async def`` handlers of a worker child share."""
        return self.conf.async_connections if self.registry.kinds(is_async=True) else 0

    def timeouts(self) -> dict[str, timedelta]:
        """The timeout of every transactional kind, the longest first."""
        found = {
            each.kind: each.timeout for each in self.registry.handlers.values() if not each.detached
        }
        return dict(sorted(found.items(), key=lambda item: item[1], reverse=True))

    @contextmanager
    def wrapper(self) -> Iterator[BaseDatabaseWrapper]:
        """A connection made as Django makes its own, with nothing set on it, closed at the end."""
        made = own_connection(self.using, NAME)
        try:
            yield made
        finally:
            made.close()

    @contextmanager
    def django(self) -> Iterator[CursorWrapper]:
        """A read-only transaction over such a connection, each statement with its deadline, reads by index."""
        with self.wrapper() as made, made.cursor() as cursor:
            cursor.execute("BEGIN READ ONLY")
            cursor.execute(
                f"SET LOCAL statement_timeout = {round(STATEMENT.total_seconds() * 1000)}"
            )
            cursor.execute(BY_INDEX)
            yield cursor

    @contextmanager
    def direct(self) -> Iterator[Raw]:
        """A session on the way that LISTEN and the leader take."""
        given = {**parameters(NAME), "connect_timeout": CONNECT}
        session = psycopg.connect(**given, autocommit=True, prepare_threshold=None)
        try:
            yield session
        finally:
            session.close()


def sqlstate(raised: BaseException | None) -> str:
    """The SQLSTATE of an error of Django's or of psycopg's, or an empty text."""
    while raised is not None:
        state = getattr(raised, "sqlstate", None)
        if isinstance(state, str):
            return state
        raised = raised.__cause__
    return ""
