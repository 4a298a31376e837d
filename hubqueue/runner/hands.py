"""The threads of a child that run attempts: one batch at a time each, and a batch is mostly one job."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread
from time import monotonic
from typing import Any, Protocol

import msgspec
from django.db import connections

from hubqueue.errors import Interrupted
from hubqueue.lifecycle.connections import begin
from hubqueue.lifecycle.context import Watch
from hubqueue.lifecycle.grouped import run_together
from hubqueue.lifecycle.guard import Claimed, Key
from hubqueue.lifecycle.owed import Owed
from hubqueue.lifecycle.run import Attempt, run
from hubqueue.lifecycle.settle import Settled
from hubqueue.registry import Handler
from hubqueue.runner.latch import Latch
from hubqueue.runner.tidy import tidy

Outcome = Settled | Owed | BaseException | None


class Running(msgspec.Struct, eq=False):
    """A job that this child holds."""

    claimed: Claimed
    watch: Watch = msgspec.field(default_factory=Watch)
    told: float | None = None
    slot: int | None = None


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


class FlightLog(Protocol):
    """Who keeps what a child holds: ``runner/flight.py``."""

    jobs: dict[Key, Running]

    def begin(self, batch: Batch) -> None: ...
    def stop(self, batch: Batch) -> None: ...
    def put_off(self, batch: Batch) -> None: ...
    def end(self, batch: Batch, outcomes: Sequence[Outcome]) -> None: ...


class Hands:
    """``count`` threads.

    In the thread that runs a batch its ``flight`` is told when the handlers begin and end, and ``freed`` is called
    when the thread is free again.
    """

    def __init__(
        self,
        count: int,
        *,
        using: str,
        flight: FlightLog,
        freed: Callable[[Batch], None],
    ) -> None:
        self._using = using
        self._flight = flight
        self._freed = freed
        self._waiting: deque[Batch] = deque()
        self._changing = Lock()
        self._beds: list[Lock] = []  # one for each thread that sleeps, who is woken by its release
        self._roused = False
        self._dismissed = False
        self._interrupting = False
        self.batches: list[Batch] = []
        self.begun: list[Batch] = []
        self.taken = 0
        for number in range(count):
            Thread(target=self._work, name=f"hand-{number}", daemon=True).start()

    def take(self, batches: Sequence[Batch]) -> None:
        """Give claimed jobs to the next free threads."""
        self.batches += batches
        for batch in batches:
            for running in batch.running:
                self._flight.jobs[running.claimed.attempt] = running
        with self._changing:
            self._waiting += batches
            self._wake(len(batches))

    def rouse(self) -> None:
        """Work is about to come: let a free thread see to its session."""
        with self._changing:
            if self._beds:
                self._roused = True
                self._wake(1)

    def _wake(self, count: int) -> None:
        """The threads that fell asleep last: they and their sessions forgot the least."""
        for _ in range(min(count, len(self._beds))):
            self._beds.pop().release()

    @property
    def waiting(self) -> int:
        """How many batches no thread has begun."""
        return len(self._waiting)

    def withdraw(self, *, older_than: float = 0.0) -> list[Running]:
        """Take back what no thread has begun, if it has waited for so many seconds."""
        horizon = monotonic() - older_than
        withdrawn: list[Running] = []
        with self._changing:
            while self._waiting and self._waiting[0].taken_at <= horizon:
                batch = self._waiting.popleft()
                self.batches.remove(batch)
                withdrawn += batch.running
        for running in withdrawn:
            self._flight.jobs.pop(running.claimed.attempt, None)
        return withdrawn

    def interrupt_all(self) -> None:
        """Interrupt every handler that runs: its transaction rolls back, its attempt is unspent."""
        self._interrupting = True
        for batch in list(self.batches):
            batch.latch.fire(Interrupted)

    def dismiss(self) -> None:
        """Let idle threads end."""
        with self._changing:
            self._dismissed = True
            self._wake(len(self._beds))

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            self.begun.append(batch)
            self._run(batch)
            self.batches.remove(batch)
            self.begun.remove(batch)
            self._freed(batch)
        connections.close_all()

    def _next(self) -> Batch | None:
        bed = Lock()
        bed.acquire()
        while True:
            with self._changing:
                if self._waiting:
                    self.taken += 1
                    return self._waiting.popleft()
                if self._dismissed:
                    return None
                self._beds.append(bed)
            bed.acquire()
            if self._roused:
                self._roused = False
                self._get_ready()

    def _get_ready(self) -> None:
        if connections[self._using].connection is not None:
            with suppress(Exception):  # whatever it is, the attempt will meet it
                begin(self._using, idle_for=0.0)

    def _run(self, batch: Batch) -> None:
        """Run a batch to its end, together or, where that does not go well, one by one."""
        if len(batch.running) == 1:
            self._flight.end(batch, [self._run_one(batch)])
            return
        outcomes: Sequence[Outcome] | None
        try:
            self._flight.begin(batch)
            attempts = [self._attempt(batch, running) for running in batch.running]
            outcomes = run_together(attempts, batch.latch.call)
        except BaseException as raised:
            outcomes = [raised] * len(batch.running)
        self._flight.stop(batch)
        tidy(distrust=batch.latch.fired)
        if outcomes is not None:
            self._flight.end(batch, outcomes)
            return
        self._flight.put_off(batch)
        for running in batch.running:
            self._run_apart(batch, running)

    def _run_one(self, batch: Batch) -> Outcome:
        try:
            self._flight.begin(batch)
            return run(self._attempt(batch, batch.running[0]))
        except BaseException as raised:
            return raised
        finally:
            self._flight.stop(batch)
            tidy(distrust=batch.latch.fired)

    def _run_apart(self, batch: Batch, running: Running) -> None:
        """One of a batch that did not go well together, under a timeout of its own."""
        single = Batch(batch.handler, [running])
        self.batches.append(single)
        if self._interrupting:
            single.latch.fire(Interrupted)
        try:
            self._flight.end(single, [self._run_one(single)])
        finally:
            self.batches.remove(single)

    def _attempt(self, batch: Batch, running: Running) -> Attempt:
        return Attempt(
            running.claimed,
            batch.handler,
            self._using,
            running.watch,
            batch.latch.call,
            later=True,
        )
