"""Another connection, in a thread of its own, that does what a test tells it step by step."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from django.db import connection, transaction

from tests.support.wait import until

T = TypeVar("T")
LONG = 30


class Rival:
    """with Rival() as rival: rival.begin(); rival.do(enqueue); rival.commit()

    `do` waits for the answer, `start` gives a future: for a step that will meet a lock.
    """

    def __enter__(self) -> Self:
        self._steps: queue.Queue[tuple[Callable[[], Any], Future[Any]] | None] = queue.Queue()
        self._atomic: transaction.Atomic | None = None
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()
        self.pid = self.do(self._find_pid)
        return self

    def __exit__(self, *_: object) -> None:
        if self._atomic is not None:
            self.start(lambda: self._end(commit=False))
        self.start(lambda: connection.close())
        self._steps.put(None)
        self._thread.join(LONG)
        assert not self._thread.is_alive(), "a rival still waits for something"

    def start(self, step: Callable[[], T]) -> "Future[T]":
        """Begin a step and answer its future."""
        future: Future[T] = Future()
        self._steps.put((step, future))
        return future

    def do(self, step: Callable[[], T]) -> T:
        """Do a step and answer what it answers."""
        return self.start(step).result(LONG)

    def begin(self) -> None:
        """Open a transaction."""
        self.do(self._begin)

    def commit(self) -> None:
        """Commit it."""
        self.do(lambda: self._end(commit=True))

    def rollback(self) -> None:
        """Roll it back."""
        self.do(lambda: self._end(commit=False))

    def is_blocked(self) -> bool:
        """Whether its statement waits for a lock just now."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s", [self.pid]
            )
            row = cursor.fetchone()
        return bool(row and row[0])

    def until_blocked(self) -> None:
        """Wait until it waits for a lock."""
        until(self.is_blocked, message="the rival's wait for a lock")

    def die(self) -> None:
        """Cut its connection from the server's side, as a killed process does."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [self.pid])

    def _loop(self) -> None:
        while (step := self._steps.get()) is not None:
            call, future = step
            try:
                future.set_result(call())
            except BaseException as raised:
                future.set_exception(raised)

    def _find_pid(self) -> int:
        connection.ensure_connection()
        return int(connection.connection.info.backend_pid)

    def _begin(self) -> None:
        self._atomic = transaction.atomic()
        self._atomic.__enter__()

    def _end(self, *, commit: bool) -> None:
        atomic, self._atomic = self._atomic, None
        assert atomic is not None
        if not commit:
            connection.needs_rollback = True
        atomic.__exit__(None, None, None)
