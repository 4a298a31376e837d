"""When to look for work next: at once after activity, ever slower while there is none, never in step with others."""

import random
from time import monotonic

FIRST = 0.010
GROWTH = 2
# Somebody else may have taken what the bell rang for. What fell into the quiet time of the bells comes soon after.
FIRST_AFTER_BELL = 0.040
GROWTH_AFTER_BELL = 8


class Pace:
    """An adaptive poll timer. ``slowest`` is the longest wait in seconds."""

    def __init__(self, slowest: float) -> None:
        self.slowest = slowest
        self.now()

    def now(self) -> None:
        """Something happened here: look at once, and again soon."""
        self._wait, self._growth = FIRST, GROWTH
        self._next = 0.0

    def rang(self, *, heeded: bool = False) -> None:
        """The bell rang for everybody: look at once, and then only a few times more. ``heeded``: who rang it is looked
        after already, and nobody else may wait for it longer than otherwise."""
        if self._wait > FIRST_AFTER_BELL:
            self._wait, self._growth = FIRST_AFTER_BELL, GROWTH_AFTER_BELL
        self._next = min(self._next, monotonic() + self._wait) if heeded else 0.0

    def found(self, some: bool, *, more: bool, everywhere: bool = True) -> None:
        """After a look: whether it found something, and whether there may be more of it."""
        if more:
            self.now()
        elif some:
            self.found_all(everywhere=everywhere)
        else:
            self.found_nothing()

    def found_all(self, *, everywhere: bool) -> None:
        """Something was found, and no more is due: look again soon. Where not all was looked at, a look at all that
        stands out is not put off."""
        self._wait, self._growth = FIRST, GROWTH
        soon = monotonic() + FIRST
        self._next = soon if everywhere else min(self._next, soon)

    def found_nothing(self) -> None:
        """Look later, and later still the next time."""
        self._next = monotonic() + self._wait * random.uniform(0.75, 1.25)
        self._wait = min(self._wait * self._growth, self.slowest)

    def failed(self) -> None:
        """The database did not answer: give it time."""
        self._wait = min(max(self._wait * 2, 0.2), self.slowest)
        self._next = monotonic() + self._wait * random.uniform(0.75, 1.25)

    @property
    def left(self) -> float:
        """Seconds until the next look; 0 = now."""
        return max(0.0, self._next - monotonic())
