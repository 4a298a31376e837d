"""The threads of a child that run attempts, one at a time each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import Any
from uuid import UUID

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from hubqueue.errors import Interrupted
from hubqueue.lifecycle.connections import discard
from hubqueue.lifecycle.context import Watch
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.owed import Owed
from hubqueue.lifecycle.run import Attempt, run
from hubqueue.lifecycle.settle import Settled
from hubqueue.registry import Handler
from hubqueue.runner.latch import Latch


@dataclass(slots=True, eq=False)
class Running:
    """An attempt in flight in this child."""

    claimed: Claimed
    handler: Handler[Any]
    watch: Watch = field(default_factory=Watch)
    latch: Latch = field(default_factory=Latch)
    told: float | None = None


Ended = Callable[[Running, Settled | Owed | None, BaseException | None], None]
Began = Callable[[Running], None]


class Hands:
    """``count`` threads. ``began`` is called right before a handler starts, ``ended`` after it was settled."""

    def __init__(self, count: int, *, using: str, began: Began, ended: Ended) -> None:
        self._inbox: SimpleQueue[Running | None] = SimpleQueue()
        self._using = using
        self._began = began
        self._ended = ended
        self.in_flight: dict[UUID, Running] = {}
        self._threads = [
            Thread(target=self._work, name=f"hand-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def take(self, running: Running) -> None:
        """Give a claimed job to the next free thread."""
        self.in_flight[running.claimed.id] = running
        self._inbox.put(running)

    def interrupt_all(self) -> None:
        """Interrupt every handler that runs: its transaction rolls back, its attempt is unspent."""
        for running in list(self.in_flight.values()):
            running.latch.fire(Interrupted)

    def dismiss(self) -> None:
        """Let idle threads end."""
        for _ in self._threads:
            self._inbox.put(None)

    def _work(self) -> None:
        while (running := self._inbox.get()) is not None:
            outcome: Settled | Owed | None = None
            broken: BaseException | None = None
            try:
                self._began(running)
                outcome = run(
                    Attempt(
                        running.claimed,
                        running.handler,
                        self._using,
                        running.watch,
                        running.latch.call,
                    )
                )
            except BaseException as raised:
                broken = raised
            self._tidy(distrust=running.latch.fired)
            self._ended(running, outcome, broken)
        connections.close_all()

    def _tidy(self, *, distrust: bool) -> None:
        """Give pooled connections back, close the broken ones; others are kept for the next attempt.

        After an interrupt all are discarded: a cancel may still be on its way. So are those that a handler
        left inside a transaction: in there, nothing of the next attempt would ever be committed.
        """
        for connection in connections.all(initialized_only=True):
            try:
                if distrust or connection.in_atomic_block or not connection.autocommit:
                    discard(connection.alias)
                elif _is_pooled(connection) or (
                    connection.errors_occurred and not connection.is_usable()
                ):
                    connection.close()
            except Exception:
                discard(connection.alias)
            connection.errors_occurred = False


def _is_pooled(connection: BaseDatabaseWrapper) -> bool:
    return bool(connection.settings_dict.get("OPTIONS", {}).get("pool"))
