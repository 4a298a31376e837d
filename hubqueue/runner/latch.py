"""Interrupt a handler, and only a handler: a latch that is closed before the attempt is settled.

An exception is set on the handler's thread and its running statement is cancelled. After the latch is
closed nothing can be set any more, and what was set and not delivered is taken back.
"""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, get_ident
from time import monotonic
from typing import Any, TypeVar

from django.db import connections
from psycopg.pq import TransactionStatus

from hubqueue.direct import sever
from hubqueue.errors import Interrupted, Unanswered

R = TypeVar("R")

CANCEL_WITHIN = 2.0
ANSWERED_WITHIN = 1.0

_set_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_async_exc.argtypes = [ctypes.c_ulong, ctypes.py_object]


class Latch:
    """Around one call of one handler."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open = False
        self._fired: type[Interrupted] | None = None
        self._thread = 0
        self._sessions: list[Any] = []
        self._cancelled: Event | None = None
        self._unanswered = False

    def call(self, invoke: Callable[[], R]) -> R:
        """Call the handler in this thread. Raises what ``fire`` was given when it fired, whatever the handler did;
        ``Unanswered`` when it was waiting then for a database that did not even take a cancel."""
        self._sessions = [connections[alias] for alias in connections]
        raised: BaseException | None = None
        answer: R | None = None
        try:
            try:
                with self._lock:
                    self._thread = get_ident()
                    self._open = self._fired is None
                if self._open:
                    answer = invoke()
            finally:
                self._close()
        except BaseException as error:
            raised = error
        # Once more: the interrupt may have been delivered inside the first closing.
        self._close()
        if self._fired is not None:
            if self._cancelled is not None:
                self._cancelled.wait(2 * CANCEL_WITHIN)
            if self._unanswered:
                raise Unanswered("the handler's time was up while the database did not answer")
            raise raised if type(raised) is self._fired else self._fired()
        if raised is not None:
            raise raised
        return answer  # type: ignore[return-value]

    @property
    def closed(self) -> bool:
        """Whether the call has ended: nothing can fire any more."""
        return bool(self._thread) and not self._open

    @property
    def fired(self) -> bool:
        """Whether the handler was interrupted."""
        return self._fired is not None

    def fire(self, reason: type[Interrupted]) -> bool:
        """Interrupt the handler, once. False when it has ended already or was interrupted before."""
        with self._lock:
            if self._fired is not None:
                return False
            if not self._open:
                if not self._thread:
                    self._fired = reason
                return False
            self._fired = reason
            # Read now: once the handler ends, the same wrappers settle over fresh connections.
            held = [session.connection for session in self._sessions if session.connection]
            waiting = [each for each in held if _waits(each)]
            if waiting and get_ident() != self._thread:
                self._cancelled = Event()
            _set_async_exc(self._thread, reason)
        try:
            for connection in held:
                self._cancel(connection, waited=connection in waiting)
        finally:
            if self._cancelled is not None:
                self._cancelled.set()
        return True

    def _close(self) -> None:
        with self._lock:
            self._open = False
            if self._fired is not None:
                _set_async_exc(self._thread, ctypes.py_object())

    def _cancel(self, connection: Any, *, waited: bool) -> None:
        """The connection is discarded after the latch fired, so a late cancel hits nobody else."""
        if connection.closed:
            return
        asked = monotonic()
        with suppress(Exception):
            connection.cancel_safe(timeout=CANCEL_WITHIN)
        if waited and monotonic() - asked > ANSWERED_WITHIN:
            self._unanswered = True
            if not self.closed and _waits(connection):
                sever(connection)


def _waits(connection: Any) -> bool:
    return bool(connection.info.transaction_status == TransactionStatus.ACTIVE)
