"""The transaction of an ``async def`` handler: every database call of the block over one connection.

Django's connections belong to threads, and a block of awaits is no thread. So the block takes a seat, a thread
with its connection, and asgiref sends there what the block calls, the ORM's ``a`` methods included. Where nobody
gives seats (the test kit), asgiref has one thread for everything, which does as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol, TypeVar

from asgiref.sync import sync_to_async
from django.db import transaction

from hubqueue.lifecycle.connections import discard

T = TypeVar("T")


class Seat(Protocol):
    """A thread and its connection, ours until we leave.

    ``interrupted``: a call was interrupted there, so the connection is good for nothing but its end. ``ending``
    lets that last call pass.
    """

    ending: bool

    @property
    def interrupted(self) -> bool: ...

    def leave(self) -> None:
        """Give the thread back once it has done what it was asked for."""


# How code that runs on the event loop gets a seat; None where it has one, or where nobody gives any.
SEATS: ContextVar[Callable[[], Awaitable[Seat]] | None] = ContextVar("hubqueue_seats", default=None)


class AsyncTransaction:
    """``async with``: a transaction that begins with ``hold``. Cancelled or raised out of, it is rolled back."""

    def __init__(self, hold: Callable[[], object], *, using: str) -> None:
        self._hold = hold
        self._using = using
        self._atomic = transaction.atomic(using=using)
        self._entered = False
        self._seat: Seat | None = None

    async def __aenter__(self) -> None:
        take = SEATS.get()
        self._seat = await take() if take is not None else None
        try:
            await sync_to_async(self._enter)()
        except BaseException as raised:
            await self._leave(raised)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._leave(raised)

    async def _leave(self, raised: BaseException | None) -> None:
        if self._seat is not None:
            self._seat.ending = True
        try:
            await to_its_end(sync_to_async(self._exit)(raised))
        except Exception:
            if raised is None:
                raise
        finally:
            if self._seat is not None:
                self._seat.leave()

    def _enter(self) -> None:
        self._atomic.__enter__()
        self._entered = True
        self._hold()

    def _exit(self, raised: BaseException | None) -> None:
        if not self._entered:
            return
        self._entered = False
        if self._seat is not None and self._seat.interrupted:
            discard(self._using)
            if raised is None:
                raise transaction.TransactionManagementError(
                    "a call of this transaction was interrupted: nothing of it was kept"
                )
            return
        self._atomic.__exit__(
            None if raised is None else type(raised),
            raised,
            None if raised is None else raised.__traceback__,
        )


async def to_its_end(call: Coroutine[Any, Any, T]) -> T:
    """Await ``call`` to its end, however often we are cancelled meanwhile; then be cancelled."""
    running = asyncio.ensure_future(call)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as asked:
            cancelled = asked
    answer = running.result()
    if cancelled is not None:
        raise cancelled
    return answer
