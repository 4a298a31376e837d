"""A thread of the supervisor that does one thing again and again over its own connection, whatever fails."""

import random
from collections.abc import Callable
from datetime import timedelta
from math import inf
from threading import Event, Thread
from time import monotonic

from hubqueue.conf import conf
from hubqueue.lifecycle.connections import discard
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.orphans import end_orphans
from hubqueue.runner.rarely import Rarely
from hubqueue.runner.sessions import set_deadline

RETRY = 0.5
LATE = 2.0  # a round that ends after so many intervals was held up by something


class Rounds:
    """Calls ``step`` every ``every`` (jittered by a tenth), at once after ``hurry()``, and soon after an error."""

    def __init__(
        self,
        name: str,
        step: Callable[[], None],
        every: timedelta,
        *,
        deadline: timedelta | None = None,
    ) -> None:
        """``deadline`` bounds each statement; that of the settings bounds it in any case."""
        self.name = name
        self._step = step
        self._every = every.total_seconds()
        self._deadline = min(deadline or timedelta.max, conf().statement_deadline)
        self._hurry = Event()
        self._stopped = False
        self._rarely = Rarely()
        self.succeeded_at = monotonic()
        self._steady_since = self.succeeded_at
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hurry(self) -> None:
        """Do a round now."""
        self._hurry.set()

    def stop(self) -> None:
        """End after the round under way."""
        self._stopped = True
        self._hurry.set()
        self._thread.join(timeout=5)

    @property
    def age(self) -> float:
        """Seconds since the last round that succeeded."""
        return monotonic() - self.succeeded_at

    @property
    def steady(self) -> float:
        """Seconds for which every round has succeeded in time; 0 while the last one has not."""
        now = monotonic()
        if now - self.succeeded_at > self._every * LATE:
            return 0.0
        return max(0.0, now - self._steady_since)

    def _run(self) -> None:
        set_deadline(self._deadline)
        while not self._stopped:
            self._hurry.clear()
            pause = self._every * random.uniform(0.9, 1.1)
            try:
                self._round()
                self._succeed()
            except Exception as raised:
                self._steady_since = inf
                discard(alias())
                pause = RETRY * random.uniform(0.5, 1.5)
                broken = broken_by(raised)
                self._rarely.warn(
                    "%s: %s %s, trying again", self.name, broken.exception, broken.sqlstate
                )
            self._hurry.wait(pause)
        discard(alias())

    def _round(self) -> None:
        """The step first: nothing may delay a renewal. What else we lost may be what it waited for in vain."""
        try:
            self._step()
        finally:
            end_orphans(alias())

    def _succeed(self) -> None:
        now = monotonic()
        if self._steady_since == inf or now - self.succeeded_at > self._every * LATE:
            self._steady_since = now
        self.succeeded_at = now
