"""How one attempt on the event loop reaches the desks: asgiref finds this where it looks for a thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext

from hubqueue.lifecycle.async_transaction import SEATS
from hubqueue.runner.desks import Call, Desks, Seat

ENDED = "The attempt has ended: what it started and did not await reaches no database."


class Berth(Executor):
    """The desks as one attempt may use them. It remembers its calls, so that none outlives the attempt.

    ``losses`` are exceptions that came from a lost connection, not from the work.
    """

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self._open: set[Future[Any]] = set()
        self._seats: set[Seat] = set()
        self._closed = False
        self.losses: list[BaseException] = []

    def settle_in(self) -> None:
        """From now on the synchronous calls of the present context come here."""
        _send_calls_to(self)
        SEATS.set(self._take_seat)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.send(partial(function, *args, **kwargs), self._desks.put)

    def send(self, function: Callable[[], Any], put: Callable[[Call], None]) -> Call:
        """Have a call made by whom ``put`` gives it to. Refused once the attempt has ended."""
        self._refuse_late_calls()
        call = Call(function, self.losses.append)
        put(call)
        self._open.add(call)
        call.add_done_callback(self._open.discard)
        return call

    async def close(self) -> bool:
        """Take no more calls, interrupt those under way and wait for their end. False when a transaction was left
        open; it is broken off."""
        self._closed = True
        loop = asyncio.get_running_loop()
        orderly = not self._seats
        for seat in self._seats:
            seat.interrupted = True
            seat.leave()
        for call in list(self._open):
            ended = asyncio.Event()
            call.add_done_callback(partial(_set_from_outside, loop, ended))
            call.cancel()
            await ended.wait()
        return orderly

    async def _take_seat(self) -> "Seated":
        self._refuse_late_calls()
        asked: Future[Seat] = Future()
        self._desks.put(asked)
        try:
            seat = await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            if not asked.cancel():
                with suppress(BaseException):
                    asked.result().leave()
            raise
        try:
            self._refuse_late_calls()
        except RuntimeError:
            seat.leave()
            raise
        self._seats.add(seat)
        return Seated(self, seat)

    def left(self, seat: Seat) -> None:
        """The transaction of this seat has ended."""
        self._seats.discard(seat)

    def _refuse_late_calls(self) -> None:
        if self._closed:
            raise RuntimeError(ENDED)


class Seated(Executor):
    """A seat as the block that took it uses it."""

    def __init__(self, berth: Berth, seat: Seat) -> None:
        self._berth = berth
        self._seat = seat
        self._before = SyncToAsync.thread_sensitive_context.get(None)
        self._take = SEATS.get()
        _send_calls_to(self)
        SEATS.set(None)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._berth.send(partial(function, *args, **kwargs), self._seat.put)

    @property
    def interrupted(self) -> bool:
        return self._seat.interrupted

    @property
    def ending(self) -> bool:
        return self._seat.ending

    @ending.setter
    def ending(self, ending: bool) -> None:
        self._seat.ending = ending

    def leave(self) -> None:
        self._seat.leave()
        self._berth.left(self._seat)
        SEATS.set(self._take)
        if self._before is not None:
            SyncToAsync.thread_sensitive_context.set(self._before)


def _set_from_outside(
    loop: asyncio.AbstractEventLoop, event: asyncio.Event, call: Future[Any]
) -> None:
    loop.call_soon_threadsafe(event.set)


def _send_calls_to(executor: Executor) -> None:
    """Route the thread-sensitive calls of the present context, and of what it starts, to ``executor``."""
    here = ThreadSensitiveContext()
    SyncToAsync.context_to_thread_executor[here] = executor
    SyncToAsync.thread_sensitive_context.set(here)
