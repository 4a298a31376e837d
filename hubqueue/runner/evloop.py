"""The event loop of a child: one thread that runs the ``async def`` handlers, many at a time."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from threading import Thread
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connections

from hubqueue.conf import conf
from hubqueue.errors import Interrupted, StopRequested
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.guard import Key
from hubqueue.runner.async_attempt import ON_BEHALF, AsyncAttempt
from hubqueue.runner.desks import Desks
from hubqueue.runner.hands import Batch, Outcome, Running

log = logging.getLogger(__name__)

BLOCKED_AFTER = 1.0
ASIDE = 32


class Evloop:
    """Starts its threads with the first batch; a child without async jobs has none of them.

    ``began`` is called where batches are taken, right before their handlers start; ``ended``, in the loop's thread,
    after one was settled. ``in_flight`` is the child's memory of what it runs.
    """

    def __init__(
        self,
        *,
        using: str,
        in_flight: dict[Key, Running],
        began: Callable[[Sequence[Batch]], None],
        ended: Callable[[Batch, Outcome], None],
    ) -> None:
        self._using = using
        self._in_flight = in_flight
        self._began = began
        self._ended = ended
        self._attempts: dict[Key, AsyncAttempt] = {}
        self._owners: WeakKeyDictionary[asyncio.Task[Any], AsyncAttempt] = WeakKeyDictionary()
        self._runners: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._desks: Desks | None = None
        self._context = copy_context()
        self._interrupting = False
        self._dismissed = False
        self._asked_at: float | None = None

    @property
    def batches(self) -> list[Batch]:
        """What runs."""
        return [each.batch for each in list(self._attempts.values())]

    @property
    def count(self) -> int:
        """How many run."""
        return len(self._attempts)

    def take(self, batches: Sequence[Batch]) -> None:
        """Start claimed jobs, all at once."""
        if not batches:
            return
        loop, desks = self._started()
        self._began(batches)
        for batch in batches:
            (running,) = batch.running
            attempt = AsyncAttempt(batch, desks, using=self._using)
            batch.began_at = monotonic()
            self._in_flight[running.claimed.attempt] = running
            self._attempts[running.claimed.attempt] = attempt
            loop.call_soon_threadsafe(self._start, attempt, context=self._context)

    def heed(self, which: Key) -> None:
        """An officer asked this attempt to stop, or it is lost: cancel its handler."""
        if (attempt := self._attempts.get(which)) is not None:
            self._fire(attempt, StopRequested)

    def interrupt_all(self) -> None:
        """Interrupt every handler: its attempt is unspent."""
        self._interrupting = True
        for attempt in list(self._attempts.values()):
            self._fire(attempt, Interrupted)

    def dismiss(self) -> None:
        """Let the threads end."""
        self._dismissed = True
        if self._loop is not None and self._desks is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._desks.dismiss()

    def blocked(self) -> tuple[float, Key | None]:
        """For how many seconds the loop has not turned, and the attempt whose handler keeps it, where that is known.

        Ask now and then from another thread: each time asks the loop to answer.
        """
        if self._loop is None:
            return 0.0, None
        if self._asked_at is None:
            self._asked_at = monotonic()
            self._loop.call_soon_threadsafe(self._answer)
            return 0.0, None
        silent = monotonic() - self._asked_at
        if silent < BLOCKED_AFTER:
            return 0.0, None
        task = asyncio.current_task(self._loop)
        owner = self._owners.get(task) if task is not None else None
        return silent, owner.claimed.attempt if owner else None

    def _answer(self) -> None:
        self._asked_at = None

    def _fire(self, attempt: AsyncAttempt, reason: type[BaseException]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(attempt.fire, reason)

    def _start(self, attempt: AsyncAttempt) -> None:
        if self._interrupting:
            attempt.fire(Interrupted)
        runner = asyncio.ensure_future(self._run(attempt))
        self._runners.add(runner)
        runner.add_done_callback(self._runners.discard)

    async def _run(self, attempt: AsyncAttempt) -> None:
        outcome: Outcome
        try:
            outcome = await attempt.run()
        except BaseException as raised:
            outcome = raised
        self._attempts.pop(attempt.claimed.attempt, None)
        self._ended(attempt.batch, outcome)

    def _started(self) -> tuple[asyncio.AbstractEventLoop, Desks]:
        if self._loop is None or self._desks is None:
            self._loop = asyncio.new_event_loop()
            self._loop.set_task_factory(self._make_task)
            self._loop.set_exception_handler(_tell)
            self._loop.set_default_executor(Aside(ASIDE, thread_name_prefix="aside"))
            self._desks = Desks(conf().async_connections, using=self._using)
            self._loop.call_soon_threadsafe(_read_whole_results, context=self._context)
            Thread(target=self._turn, args=(self._loop,), name="event loop", daemon=True).start()
        return self._loop, self._desks

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        while not self._dismissed:
            try:
                loop.run_forever()
            except BaseException as raised:  # what something a handler started raised: SystemExit
                log.error(
                    "event loop: %s in something that a handler started", type(raised).__name__
                )
        loop.close()

    def _make_task(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        context: Context | None = None,
        **options: Any,
    ) -> asyncio.Task[Any]:
        """Remember on whose behalf a task runs."""
        task = asyncio.Task(coroutine, loop=loop, context=context, **options)
        owner = ON_BEHALF.get(None) if context is None else context.get(ON_BEHALF)
        if owner is not None:
            self._owners[task] = owner
        return task


def _read_whole_results() -> None:
    """In this context, ``aiterator()`` reads its result at once: between two calls there is no connection that a
    cursor of the server could live on. Django looks at the event loop's own handle, over which nothing is sent."""
    for connection in connections.all():
        connection.settings_dict = {
            **connection.settings_dict,
            "DISABLE_SERVER_SIDE_CURSORS": True,
        }


class Aside(ThreadPoolExecutor):
    """For ``asyncio.to_thread``: a call that opened a connection leaves none behind."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return super().submit(_closing, function, *args, **kwargs)


def _closing(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    finally:
        connections.close_all()


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Of what went wrong beside the handlers, its kind. A message may quote rows."""
    raised = context.get("exception")
    seen = broken_by(raised).exception if isinstance(raised, BaseException) else "no exception"
    log.error("event loop: %s in something that nobody awaits", seen)
