"""Watch the timeouts of running handlers from a thread that runs none."""

import heapq
from itertools import count
from threading import Condition, Thread
from time import monotonic

from hubqueue.errors import TimedOut
from hubqueue.runner.latch import Latch

ROOM = 500


class Deadlines:
    """Fires latches whose time is up. Latches that are closed by then ignore it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: list[tuple[float, int, Latch]] = []
        self._room = ROOM
        self._order = count()
        Thread(target=self._watch, name="deadlines", daemon=True).start()

    def watch(self, latch: Latch, seconds: float) -> None:
        """Fire ``latch`` in so many seconds. Latches that closed meanwhile are forgotten now and then."""
        with self._changed:
            if len(self._waiting) >= self._room:
                self._forget_closed()
            moment = monotonic() + seconds
            sooner = not self._waiting or moment < self._waiting[0][0]
            heapq.heappush(self._waiting, (moment, next(self._order), latch))
            if sooner:
                self._changed.notify()

    def _forget_closed(self) -> None:
        self._waiting = [each for each in self._waiting if not each[2].closed]
        heapq.heapify(self._waiting)
        self._room = max(ROOM, 2 * len(self._waiting))

    def _watch(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                moment, _, latch = self._waiting[0]
                if (left := moment - monotonic()) > 0:
                    self._changed.wait(left)
                    continue
                heapq.heappop(self._waiting)
            # By itself: a server that does not answer lets each of them wait.
            Thread(target=latch.fire, args=[TimedOut], daemon=True).start()
