"""The thread that settles what others have done the work of: all that waits, in one commit."""

import random
from collections.abc import Callable, Collection
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from uuid import UUID

from django.db import connections

from hubqueue.conf import conf
from hubqueue.lifecycle.guard import Key
from hubqueue.lifecycle.owed import Owed, pay_together
from hubqueue.runner.sessions import set_deadline
from hubqueue.runner.tidy import tidy

MOST = 500
AGAIN = 0.5


class Payer:
    """``tried`` is called with each verdict after the first try to store it, in the payer's thread.

    A verdict waits no longer than the commit before it takes. What cannot be stored, because the row is busy or
    the database away, is tried again after a moment, for as long as it takes.
    """

    def __init__(self, *, using: str, tried: Callable[[Owed], None]) -> None:
        self._using = using
        self._tried = tried
        self._fresh: SimpleQueue[Owed | None] = SimpleQueue()
        self._again: list[Owed] = []
        self._again_at = 0.0
        self._unpaid: dict[Key, Owed] = {}
        Thread(target=self._work, name="payer", daemon=True).start()

    @property
    def unpaid(self) -> Collection[UUID]:
        """The jobs whose verdicts are not stored yet."""
        return [job_id for job_id, _ in list(self._unpaid)]

    @property
    def idle(self) -> bool:
        """Whether every verdict is stored."""
        return not self._unpaid

    def put(self, owed: Owed) -> None:
        """Have a verdict stored."""
        self._unpaid[owed.claimed.attempt] = owed
        self._fresh.put(owed)

    def forget(self) -> None:
        """Give up what could not be stored so far: the lease's end will tell."""
        for owed in list(self._again):
            self._unpaid.pop(owed.claimed.attempt, None)
        self._again.clear()

    def dismiss(self) -> None:
        """Let the thread end."""
        self._fresh.put(None)

    def _work(self) -> None:
        set_deadline(conf().statement_deadline)
        while True:
            batch = self._next()
            if None in batch:
                break
            self._store([owed for owed in batch if owed is not None])
            if self._again and monotonic() >= self._again_at:
                self._try_again()
            tidy(distrust=False)
        connections.close_all()

    def _next(self) -> list[Owed | None]:
        """All that waits; nothing when it is time to try again."""
        wait = max(0.0, self._again_at - monotonic()) if self._again else None
        batch: list[Owed | None] = []
        try:
            batch.append(self._fresh.get(timeout=wait))
            while len(batch) < MOST:
                batch.append(self._fresh.get_nowait())
        except Empty:
            pass
        return batch

    def _store(self, batch: list[Owed]) -> None:
        for owed, outcome in pay_together(batch, using=self._using) if batch else ():
            if isinstance(outcome, Owed):
                self._unpaid[owed.claimed.attempt] = outcome
                self._again.append(outcome)
                self._again_at = monotonic() + AGAIN + random.random() * AGAIN
            else:
                self._unpaid.pop(owed.claimed.attempt, None)
            self._tried(owed)

    def _try_again(self) -> None:
        again, self._again = self._again, []
        self._store(again)
