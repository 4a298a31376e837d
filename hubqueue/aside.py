"""Read without harm: aside, on a connection of its own and with little patience; or steadily, by index only."""

import copy
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock, Thread
from typing import Generic, TypeVar

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from hubqueue.lifecycle.database import alias

T = TypeVar("T")

# For reads that take the first so many rows in the order of an index. The planner's statistics lag behind a table
# that fills and empties; when they say "few rows" it would rather read all of them and sort.
BY_INDEX = """
SELECT set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)
"""


class Unreachable(Exception):
    """The database gave no answer in time. The reason is left out: it would quote addresses and names."""


class Aside(Generic[T]):
    """One question to the database that many may ask at once.

    ``answer()`` returns what ``read`` made of it, at most ``keep`` old, or raises ``Unreachable`` after
    ``patience`` at the latest, also when the server accepts connections and stays silent. At most one
    reading is under way; each statement is ended by the server after ``patience``.
    """

    def __init__(
        self, read: Callable[[CursorWrapper], T], *, patience: timedelta, keep: timedelta
    ) -> None:
        self._read = read
        self._patience = patience.total_seconds()
        self._keep = keep.total_seconds()
        self._lock = Lock()
        self._under_way: Future[T] | None = None
        self._last: tuple[float, T] | None = None

    def answer(self) -> T:
        with self._lock:
            if self._last is not None and time.monotonic() - self._last[0] < self._keep:
                return self._last[1]
            if self._under_way is None:
                self._under_way = Future()
                Thread(target=self._ask, args=[self._under_way], daemon=True).start()
            asked = self._under_way
        try:
            return asked.result(timeout=self._patience)
        except Exception as problem:
            raise Unreachable("The database gave no answer in time.") from problem

    def forget(self) -> None:
        """Let the next ``answer()`` ask anew."""
        with self._lock:
            self._last = None

    def _ask(self, asked: Future[T]) -> None:
        try:
            found = self._over_own_connection()
        except Exception as problem:
            self._end(asked, None)
            asked.set_exception(problem)
        else:
            self._end(asked, (time.monotonic(), found))
            asked.set_result(found)

    def _end(self, asked: Future[T], last: tuple[float, T] | None) -> None:
        with self._lock:
            if last is not None:
                self._last = last
            if self._under_way is asked:
                self._under_way = None

    def _over_own_connection(self) -> T:
        connection = own_connection(alias(), "hubqueue-aside")
        try:
            with connection.cursor() as cursor:
                cursor.execute("BEGIN READ ONLY")
                cursor.execute(BY_INDEX)
                cursor.execute(f"SET LOCAL statement_timeout = {int(self._patience * 1000)}")
                return self._read(cursor)
        finally:
            connection.close()


@contextmanager
def steadily(using: str) -> Iterator[None]:
    """A transaction whose reads follow the indexes, whatever the planner's statistics say."""
    with transaction.atomic(using=using):
        with connections[using].cursor() as cursor:
            cursor.execute(BY_INDEX)
        yield


def own_connection(using: str, name: str) -> BaseDatabaseWrapper:
    """A connection to the database ``using`` that no thread and no pool shares, not opened yet.

    ``name`` is what ``pg_stat_activity`` shows: a worker's id would make a dead worker look alive.
    """
    shared = connections[using]
    settings = copy.deepcopy(shared.settings_dict)
    options = settings["OPTIONS"]
    options.pop("pool", None)
    options |= {"application_name": name, "connect_timeout": options.get("connect_timeout", 2)}
    settings |= {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False}
    return type(shared)(settings, using)
