"""When to try again and when to give up: pure arithmetic, no clock and no database."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

# The share of an asked wait that is added at random, so that a thousand refusals do not come back in one second.
SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential with full jitter: the wait before try ``n + 1`` is uniform in ``0 .. min(cap, base * 2**(n-1))``."""

    base: timedelta = timedelta(seconds=5)
    cap: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        if self.base <= timedelta(0) or self.cap < self.base:
            raise ValueError(
                f"Backoff: expected 0 < base <= cap, got base={self.base}, cap={self.cap}"
            )

    def ceiling(self, attempt: int) -> timedelta:
        """The longest wait after failed attempt number ``attempt`` (1-based)."""
        if attempt < 1:
            raise ValueError(f"Backoff: attempts count from 1, got {attempt}")
        doublings = min(attempt - 1, 62)
        seconds = min(self.cap.total_seconds(), self.base.total_seconds() * 2.0**doublings)
        return timedelta(seconds=seconds)

    def wait(self, attempt: int) -> timedelta:
        """A random wait after failed attempt number ``attempt`` (1-based)."""
        return self.ceiling(attempt) * random.random()


def spread(after: timedelta) -> timedelta:
    """An asked wait, never shorter than asked, lengthened by up to a quarter."""
    return after * (1 + SPREAD * random.random())


def exhausted(
    *,
    attempts: int,
    max_attempts: int,
    failing_since: datetime | None,
    give_up_after: timedelta | None,
    now: datetime,
) -> bool:
    """Whether a job that failed ``attempts`` times is given up.

    Both bounds must be passed: ``max_attempts`` and, where set, ``give_up_after`` since the first failure.
    """
    if attempts < max_attempts:
        return False
    if give_up_after is None:
        return True
    return failing_since is not None and now - failing_since >= give_up_after
