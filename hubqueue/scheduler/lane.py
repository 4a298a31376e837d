"""A lane: calls that touch the database, one at a time, in a thread of their own that can be given up."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from queue import SimpleQueue
from typing import Any, TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from hubqueue.direct import sever
from hubqueue.lifecycle.database import connection
from hubqueue.scheduler.errors import Overran, StillRunning, Stopped

T = TypeVar("T")

SLICE = 0.05
GRACE = timedelta(seconds=1)
LAST_WORDS = timedelta(milliseconds=300)


class Lane:
    """Runs calls in one thread with one connection. A call that does not end in time is cut off.

    First its statement is cancelled and its connection severed; what even then does not return (it waits for
    something else than the database) is left behind in its thread, and the lane goes on in a new one.
    """

    def __init__(self, name: str, stop: threading.Event) -> None:
        self._name = name
        self._stop = stop
        self._hand: _Hand | None = None
        self._left_behind: dict[str, _Turn] = {}

    def run(self, name: str, call: Callable[[], T], deadline: timedelta) -> T:
        """Run ``call`` and answer what it answers, or raise what it raises.

        Raises ``Overran`` after ``deadline``, ``StillRunning`` while an earlier call of that name has not
        ended, and ``Stopped`` when the scheduler is to end.
        """
        left = self._left_behind.get(name)
        if left is not None and not left.done.is_set():
            raise StillRunning(f"{name} was cut off and has not ended yet")
        self._left_behind.pop(name, None)
        turn = _Turn(call)
        hand = self._take_hand()
        hand.turns.put(turn)
        if not self._wait(turn, deadline + GRACE):
            self._cut_off(name, hand, turn)
            if self._stop.is_set():
                raise Stopped("the scheduler ends")
            raise Overran(f"{name} did not end in time") from turn.raised
        if turn.raised is not None:
            raise turn.raised
        return turn.answer  # type: ignore[no-any-return]

    def close(self, *, wait: timedelta = LAST_WORDS) -> None:
        """End the thread and its connection once it has nothing to do."""
        hand, self._hand = self._hand, None
        if hand is not None:
            hand.turns.put(None)
            hand.join(wait.total_seconds())

    def _take_hand(self) -> "_Hand":
        if self._hand is None or not self._hand.is_alive():
            self._hand = _Hand(self._name)
            self._hand.start()
        return self._hand

    def _wait(self, turn: "_Turn", length: timedelta) -> bool:
        ends = time.monotonic() + length.total_seconds()
        while not turn.done.wait(SLICE):
            if self._stop.is_set() or time.monotonic() >= ends:
                return turn.done.is_set()
        return True

    def _cut_off(self, name: str, hand: "_Hand", turn: "_Turn") -> None:
        hand.sever()
        if not turn.done.wait(LAST_WORDS.total_seconds()):
            self._left_behind[name] = turn
            hand.turns.put(None)
            self._hand = None


@dataclass(eq=False, slots=True)
class _Turn:
    call: Callable[[], Any]
    done: threading.Event = field(default_factory=threading.Event)
    answer: Any = None
    raised: BaseException | None = None

    def take(self) -> None:
        try:
            self.answer = self.call()
        except BaseException as raised:
            self.raised = raised


class _Hand(threading.Thread):
    def __init__(self, name: str) -> None:
        super().__init__(name=f"scheduler {name}", daemon=True)
        self.turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._connection: BaseDatabaseWrapper | None = None

    def run(self) -> None:
        self._connection = connection()
        while (turn := self.turns.get()) is not None:
            turn.take()
            if turn.raised is not None or not self._is_tidy():
                _close_all()
            turn.done.set()
        _close_all()

    def sever(self) -> None:
        """End what the call waits for in the database, from another thread."""
        if self._connection is not None:
            sever(self._connection.connection, cancel=True)

    def _is_tidy(self) -> bool:
        session = self._connection
        return (
            session is None
            or session.connection is None
            or (session.autocommit and not session.in_atomic_block)
        )


def _close_all() -> None:
    with suppress(Exception):
        connections.close_all()
