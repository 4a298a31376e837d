"""Threads with a database connection each, where attempts of the event loop have their synchronous calls made.

An attempt that waits on the network holds none. A call outside a transaction goes to any desk and leaves
nothing open there; a transaction takes a seat, one desk for all its calls.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Condition, Thread
from typing import Any

from django.db import connections, transaction

from hubqueue.errors import Interrupted, TransactionLeftOpen
from hubqueue.lifecycle.connections import begin, is_connection_loss, is_left_open
from hubqueue.runner.latch import Latch
from hubqueue.runner.tidy import tidy


class Call(Future[Any]):
    """A synchronous call on its way to a desk. Cancelling it while it is made interrupts it, its statement too.

    ``on_loss`` hears of an exception that came from the connection rather than from the work.
    """

    def __init__(
        self,
        function: Callable[[], Any],
        on_loss: Callable[[BaseException], object] = lambda raised: None,
    ) -> None:
        super().__init__()
        self.function = function
        self.on_loss = on_loss
        self.latch = Latch()
        self._interrupting = False

    def cancel(self) -> bool:
        if super().cancel():
            return True
        if self.running() and not self._interrupting:
            self._interrupting = True
            # Not here: it talks to the server, and this is the event loop's thread.
            Thread(target=self.latch.fire, args=(Interrupted,), daemon=True).start()
        return False


class Seat:
    """One desk and its connection for the calls of one transaction, until left."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Call | None] = SimpleQueue()
        self.interrupted = False
        self.ending = False
        self.left = False

    def put(self, call: Call) -> None:
        if self.left:
            raise RuntimeError("The transaction that this call belongs to has ended.")
        self.calls.put(call)

    def leave(self) -> None:
        if not self.left:
            self.left = True
            self.calls.put(None)


class Desks:
    """``count`` threads, at least 2. Transactions take all but one, so that a call by itself is never stuck."""

    def __init__(self, count: int, *, using: str) -> None:
        self._using = using
        self._most_seats = max(1, count - 1)
        self._seated = 0
        self._waiting: deque[Call | Future[Seat]] = deque()
        self._changed = Condition()
        self._dismissed = False
        for number in range(count):
            Thread(target=self._work, name=f"desk-{number}", daemon=True).start()

    def put(self, call: Call | Future[Seat]) -> None:
        """Have a call made, or a seat given, as soon as a desk is free."""
        with self._changed:
            self._waiting.append(call)
            self._changed.notify()

    def dismiss(self) -> None:
        """Let idle threads end."""
        with self._changed:
            self._dismissed = True
            self._changed.notify_all()

    def _work(self) -> None:
        while (asked := self._next()) is not None:
            if isinstance(asked, Call):
                self._make(asked)
                continue
            try:
                self._sit(asked)
            finally:
                with self._changed:
                    self._seated -= 1
                    self._changed.notify_all()
        connections.close_all()

    def _next(self) -> Call | Future[Seat] | None:
        with self._changed:
            while True:
                for asked in self._waiting:
                    is_call = isinstance(asked, Call)
                    if is_call or self._seated < self._most_seats:
                        self._waiting.remove(asked)
                        self._seated += not is_call
                        return asked
                if self._dismissed:
                    return None
                self._changed.wait()

    def _sit(self, asked: Future[Seat]) -> None:
        if not asked.set_running_or_notify_cancel():
            return
        seat = Seat()
        asked.set_result(seat)
        while (call := seat.calls.get()) is not None:
            self._make(call, seat)
        tidy(distrust=seat.interrupted)

    def _make(self, call: Call, seat: Seat | None = None) -> None:
        if not call.set_running_or_notify_cancel():
            return
        answer, raised = None, None
        try:
            if seat is not None and seat.interrupted and not seat.ending:
                raise transaction.TransactionManagementError(
                    "a call of this transaction was interrupted: it can only be rolled back"
                )
            if not (seat and connections[self._using].in_atomic_block):
                begin(self._using)
            answer = call.latch.call(call.function)
            if seat is None and any(is_left_open(alias) for alias in connections):
                raise TransactionLeftOpen(
                    "a call of an async handler ends every transaction that it begins: for one over several"
                    " awaits use job.atransaction()"
                )
        except BaseException as error:
            raised = error
            if is_connection_loss(error, self._using):
                call.on_loss(error)
        if seat is None:
            tidy(distrust=call.latch.fired)
        else:
            seat.interrupted |= call.latch.fired
        if raised is None:
            call.set_result(answer)
        else:
            call.set_exception(raised)
