"""An event loop as a worker child has it, in this process: run jobs on it and see how they end."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from threading import enumerate as living
from typing import Any
from uuid import UUID, uuid4

from hubqueue.lifecycle.guard import Key
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.settle import Settled
from hubqueue.registry import registry
from hubqueue.runner.evloop import Evloop
from hubqueue.runner.hands import Batch, Outcome, Running
from hubqueue.states import Stop
from tests.support.handlers import ASYNC_SCRIPTS, AsyncScript, scripted_async
from tests.support.rows import claim_all, make_job
from tests.support.wait import until

PATIENT = 60.0
AT_ONCE = timedelta(seconds=10)


class Trip:
    """One job on the loop."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.running: Running = batch.running[0]
        self.id: UUID = self.running.claimed.id
        self.ended = Event()
        self.outcome: Outcome = None

    def settled(self) -> Settled:
        """Wait for the end; it must have been stored."""
        assert self.ended.wait(PATIENT), "the job did not end"
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        outcome = (
            pay(self.outcome, patience=AT_ONCE) if isinstance(self.outcome, Owed) else self.outcome
        )
        assert isinstance(outcome, Settled), outcome
        return outcome


class Afloat:
    """The loop, and what is on it."""

    def __init__(self) -> None:
        self.trips: dict[UUID, Trip] = {}
        self.in_flight: dict[Key, Running] = {}
        self.evloop = Evloop(
            using="default", in_flight=self.in_flight, began=self._began, ended=self._ended
        )

    def start(self, *scripts: AsyncScript, **values: Any) -> list[Trip]:
        """Begin a job for each script, all at once. With one attempt each: none is due again by itself."""
        for script in scripts:
            name = f"script-{uuid4()}"
            ASYNC_SCRIPTS[name] = script
            make_job(
                kind=scripted_async.kind, payload={"script": name}, **{"max_attempts": 1} | values
            )
        order = list(ASYNC_SCRIPTS)
        claimed = sorted(claim_all(), key=lambda each: order.index(each.payload["script"]))
        handler = registry.handlers[scripted_async.kind]
        trips = [Trip(Batch(handler, [Running(each)])) for each in claimed]
        self.trips |= {trip.id: trip for trip in trips}
        self.evloop.take([trip.batch for trip in trips])
        return trips

    def run(self, script: AsyncScript, **values: Any) -> Settled:
        """Run one job to its end."""
        (trip,) = self.start(script, **values)
        return trip.settled()

    def stop(self, trip: Trip) -> None:
        """What the supervisor's word makes of an officer's request."""
        trip.running.watch.stop = Stop.CANCEL
        self.evloop.heed(trip.running.claimed.attempt)

    def _began(self, batches: Sequence[Batch]) -> None:
        pass

    def _ended(self, batch: Batch, outcome: Outcome) -> None:
        trip = self.trips[batch.running[0].claimed.id]
        trip.outcome = outcome
        trip.ended.set()


@contextmanager
def event_loop() -> Iterator[Afloat]:
    """Ends what still runs, and its connections."""
    made = Afloat()
    try:
        yield made
        made.evloop.interrupt_all()
        until(lambda: not made.evloop.batches, timeout=PATIENT, message="the end of all jobs")
    finally:
        made.evloop.dismiss()
        ASYNC_SCRIPTS.clear()
        until(
            lambda: not any(each.name.startswith(("desk-", "event loop")) for each in living()),
            timeout=PATIENT,
            message="the end of the threads",
        )


class Gate:
    """Opened from another thread, awaited on the loop."""

    def __init__(self) -> None:
        self._open = Event()

    def open(self) -> None:
        self._open.set()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    async def wait(self) -> None:
        while not self._open.is_set():
            await asyncio.sleep(0.005)
