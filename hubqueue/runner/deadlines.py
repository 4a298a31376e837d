"""Watch the timeouts of running handlers from a thread that runs none."""

from threading import Condition, Thread
from time import monotonic

from hubqueue.errors import TimedOut
from hubqueue.runner.latch import Latch

NEVER = float("inf")


class Deadlines:
    """Fires latches whose time is up. As cheap as can be for a handler that ends in time: it wakes nobody."""

    def __init__(self) -> None:
        self._moments: dict[Latch, float] = {}
        self._changed = Condition()
        self._wakes_at = NEVER
        Thread(target=self._watch, name="deadlines", daemon=True).start()

    def watch(self, latch: Latch, seconds: float) -> None:
        """Fire ``latch`` in so many seconds, unless it is forgotten before."""
        self._moments[latch] = moment = monotonic() + seconds
        if moment < self._wakes_at:
            with self._changed:
                self._changed.notify()

    def forget(self, latch: Latch) -> None:
        """The handler has ended."""
        self._moments.pop(latch, None)

    def _watch(self) -> None:
        while True:
            with self._changed:
                # Set before it is looked at: a moment that comes later than this look sees it, and wakes us.
                self._wakes_at = NEVER
                self._wakes_at = min(self._moments.copy().values(), default=NEVER)
                left = self._wakes_at - monotonic()
                if left > 0:
                    self._changed.wait(None if left == NEVER else left)
            self._fire_late()

    def _fire_late(self) -> None:
        now = monotonic()
        for latch, moment in self._moments.copy().items():
            if moment <= now:
                self.forget(latch)
                # By itself: a server that does not answer lets each of them wait.
                Thread(target=latch.fire, args=[TimedOut], daemon=True).start()
