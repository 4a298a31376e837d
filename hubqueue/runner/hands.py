"""The threads of a child that run attempts: one batch at a time each, and a batch is mostly one job."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import connections

from hubqueue.errors import Interrupted
from hubqueue.lifecycle.context import Watch
from hubqueue.lifecycle.grouped import run_together
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.owed import Owed
from hubqueue.lifecycle.run import Attempt, run
from hubqueue.lifecycle.settle import Settled
from hubqueue.registry import Handler
from hubqueue.runner.latch import Latch
from hubqueue.runner.tidy import tidy

Outcome = Settled | Owed | BaseException | None


@dataclass(slots=True, eq=False)
class Running:
    """A job that this child holds."""

    claimed: Claimed
    watch: Watch = field(default_factory=Watch)
    told: float | None = None


@dataclass(slots=True, eq=False)
class Batch:
    """Jobs of one handler that a thread runs together under one timeout."""

    handler: Handler[Any]
    running: Sequence[Running]
    latch: Latch = field(default_factory=Latch)
    taken_at: float = field(default_factory=monotonic)
    began_at: float | None = None

    @property
    def queue(self) -> str:
        return self.running[0].claimed.queue


class Hands:
    """``count`` threads.

    In the thread that runs a batch, ``began`` is called right before its handlers start, ``put_off`` when they
    are to run one by one instead, ``ended`` after they were settled, ``freed`` when the thread is free again.
    """

    def __init__(
        self,
        count: int,
        *,
        using: str,
        began: Callable[[Batch], None],
        put_off: Callable[[Batch], None],
        ended: Callable[[Batch, Sequence[Outcome]], None],
        freed: Callable[[Batch], None],
    ) -> None:
        self._using = using
        self._began = began
        self._put_off = put_off
        self._ended = ended
        self._freed = freed
        self._waiting: deque[Batch] = deque()
        self._changed = Condition()
        self._dismissed = False
        self._interrupting = False
        self.batches: list[Batch] = []
        self.in_flight: dict[UUID, Running] = {}
        for number in range(count):
            Thread(target=self._work, name=f"hand-{number}", daemon=True).start()

    def take(self, batch: Batch) -> None:
        """Give claimed jobs to the next free thread."""
        self.batches.append(batch)
        for running in batch.running:
            self.in_flight[running.claimed.id] = running
        with self._changed:
            self._waiting.append(batch)
            self._changed.notify()

    def withdraw(self, *, older_than: float = 0.0) -> list[Running]:
        """Take back what no thread has begun, if it has waited for so many seconds."""
        horizon = monotonic() - older_than
        withdrawn: list[Running] = []
        with self._changed:
            for batch in [each for each in self._waiting if each.taken_at <= horizon]:
                self._waiting.remove(batch)
                self.batches.remove(batch)
                withdrawn += batch.running
        for running in withdrawn:
            self.in_flight.pop(running.claimed.id, None)
        return withdrawn

    def interrupt_all(self) -> None:
        """Interrupt every handler that runs: its transaction rolls back, its attempt is unspent."""
        self._interrupting = True
        for batch in list(self.batches):
            batch.latch.fire(Interrupted)

    def dismiss(self) -> None:
        """Let idle threads end."""
        with self._changed:
            self._dismissed = True
            self._changed.notify_all()

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            self._ended(batch, self._run(batch))
            for running in batch.running:
                self.in_flight.pop(running.claimed.id, None)
            self.batches.remove(batch)
            self._freed(batch)
        connections.close_all()

    def _next(self) -> Batch | None:
        with self._changed:
            while not self._waiting and not self._dismissed:
                self._changed.wait()
            return self._waiting.popleft() if self._waiting else None

    def _run(self, batch: Batch) -> Sequence[Outcome]:
        if len(batch.running) == 1:
            return [self._run_one(batch)]
        outcomes: Sequence[Outcome] | None
        try:
            self._began(batch)
            attempts = [self._attempt(batch, running) for running in batch.running]
            outcomes = run_together(attempts, batch.latch.call)
        except BaseException as raised:
            outcomes = [raised] * len(batch.running)
        tidy(distrust=batch.latch.fired)
        if outcomes is not None:
            return outcomes
        self._put_off(batch)
        return [self._run_apart(batch, running) for running in batch.running]

    def _run_one(self, batch: Batch) -> Outcome:
        try:
            self._began(batch)
            return run(self._attempt(batch, batch.running[0]))
        except BaseException as raised:
            return raised
        finally:
            tidy(distrust=batch.latch.fired)

    def _run_apart(self, batch: Batch, running: Running) -> Outcome:
        """One of a batch that did not go well together, under a timeout of its own."""
        single = Batch(batch.handler, [running])
        self.batches.append(single)
        if self._interrupting:
            single.latch.fire(Interrupted)
        try:
            return self._run_one(single)
        finally:
            self.batches.remove(single)

    def _attempt(self, batch: Batch, running: Running) -> Attempt:
        return Attempt(running.claimed, batch.handler, self._using, running.watch, batch.latch.call)
