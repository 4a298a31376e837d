"""One attempt of an ``async def`` handler: the coroutine on the event loop, its end at a desk, as any other's."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

from hubqueue.errors import Interrupted, PayloadRefused, TimedOut, TransactionLeftOpen
from hubqueue.lifecycle.connections import discard
from hubqueue.lifecycle.run import Attempt, run
from hubqueue.results import Result
from hubqueue.runner.berth import Berth
from hubqueue.runner.desks import Call, Desks
from hubqueue.runner.hands import Batch, Outcome

# Whose code runs in a context of the event loop.
ON_BEHALF: ContextVar["AsyncAttempt | None"] = ContextVar("hubqueue_on_behalf", default=None)


class AsyncAttempt:
    """Everything here happens in the event loop's thread, except ``_replay``."""

    def __init__(self, batch: Batch, desks: Desks, *, using: str) -> None:
        self.batch = batch
        self.claimed = batch.running[0].claimed
        self._watch = batch.running[0].watch
        self._using = using
        self._desks = desks
        self._berth = Berth(desks)
        self._handler: asyncio.Task[None] | None = None
        self._fired: type[BaseException] | None = None
        self._answer: Result | None = None
        self._raised: BaseException | None = None

    async def run(self) -> Outcome:
        """Run to the end. Answers what ``lifecycle.run`` does."""
        attempt = Attempt(
            self.claimed, self.batch.handler, self._using, self._watch, self._replay, later=True
        )
        arguments = _arguments(attempt)
        if arguments is not None:
            await self._call(attempt, arguments)
        ending = Call(partial(run, attempt))
        self._desks.put(ending)
        outcome: Outcome = await asyncio.wrap_future(ending)
        return outcome

    def fire(self, reason: type[BaseException]) -> None:
        """Cancel the handler for ``reason``. A stop request may be followed by a stronger reason, nothing else."""
        ended = self._handler is not None and self._handler.done()
        if ended or (self._fired is not None and issubclass(self._fired, Interrupted)):
            return
        self._fired = reason
        if self._handler is not None:
            self._handler.cancel()

    async def _call(self, attempt: Attempt, arguments: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        context = copy_context()
        context.run(ON_BEHALF.set, self)
        context.run(self._berth.settle_in)
        self._handler = loop.create_task(self._shell(attempt, arguments), context=context)
        if self._fired is not None:
            self._handler.cancel()
        limit = self.batch.handler.timeout.total_seconds()
        timer = loop.call_later(limit, self.fire, TimedOut)
        await asyncio.wait([self._handler])
        timer.cancel()
        if self._handler.cancelled():
            self._raised = asyncio.CancelledError()
        if not await self._berth.close() and self._raised is None:
            self._raised = TransactionLeftOpen("a handler awaits what it started to the end")
        self._raised = self._reason()

    async def _shell(self, attempt: Attempt, arguments: dict[str, Any]) -> None:
        """Nothing that a handler raises gets out of here: some exceptions would end the event loop."""
        coroutine = self.batch.handler.coroutine
        assert coroutine is not None
        try:
            self._answer = await coroutine(attempt.job, **arguments)
        except BaseException as raised:
            self._raised = raised

    def _reason(self) -> BaseException | None:
        """Why the attempt did not get to its end, if it did not. An interrupt stands, whatever the handler made of it;
        a stop request stands when the handler heeded it."""
        raised, fired = self._raised, self._fired
        if fired is None:
            return raised
        if not issubclass(fired, Interrupted) and not isinstance(raised, asyncio.CancelledError):
            return raised
        return fired().with_traceback(raised.__traceback__ if raised else None)

    def _replay(self, invoke: Callable[[], Result | None]) -> Result | None:
        """At a desk: what the handler answered or raised, as if it had been called here."""
        if self._raised is None:
            return self._answer
        if any(each in self._berth.losses for each in _chain(self._raised)):
            discard(self._using)
        raise self._raised


def _arguments(attempt: Attempt) -> dict[str, Any] | None:
    """None when the handler is not to be called: ``lifecycle.run`` finds the same and says why."""
    if attempt.overdrawn:
        return None
    try:
        return attempt.work.signature.decode(attempt.claimed.payload)
    except PayloadRefused:
        return None


def _chain(raised: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while raised is not None and len(found) < 10:
        found.append(raised)
        raised = raised.__cause__ or raised.__context__
    return found
