"""When to look for work next: at once after activity, ever slower while there is none, never in step with others."""

import random
from time import monotonic

FIRST = 0.010


class Pace:
    """An adaptive poll timer. ``slowest`` is the longest wait in seconds."""

    def __init__(self, slowest: float) -> None:
        self.slowest = slowest
        self._wait = FIRST
        self._next = 0.0

    def now(self) -> None:
        """Something happened: look at once."""
        self._wait = FIRST
        self._next = 0.0

    def found_nothing(self) -> None:
        """Look later, and later still the next time."""
        self._next = monotonic() + self._wait * random.uniform(0.75, 1.25)
        self._wait = min(self._wait * 2, self.slowest)

    def failed(self) -> None:
        """The database did not answer: give it time."""
        self._wait = min(max(self._wait * 2, 0.2), self.slowest)
        self._next = monotonic() + self._wait * random.uniform(0.75, 1.25)

    @property
    def left(self) -> float:
        """Seconds until the next look; 0 = now."""
        return max(0.0, self._next - monotonic())
