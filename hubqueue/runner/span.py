"""How long a child lives: for so many jobs, up to so much memory, and one for suspects while there are some."""

from time import monotonic

from hubqueue.runner.memory import resident_bytes

SOLO_PATIENCE = 15.0


class Span:
    """``max_jobs`` and ``max_memory`` (bytes) are bounds, 0 = none. ``taken`` is how many jobs were taken so far."""

    def __init__(self, *, max_jobs: int, max_memory: int, solo: bool) -> None:
        self._max_jobs = max_jobs
        self._max_memory = max_memory
        self._solo = solo
        self._idle_since = monotonic()
        self.taken = 0

    @property
    def left(self) -> int | None:
        """How many more jobs may be taken. None = any."""
        return self._max_jobs - self.taken if self._max_jobs else None

    @property
    def full(self) -> bool:
        """Whether so many jobs were taken."""
        return self.left is not None and self.left <= 0

    @property
    def outgrown(self) -> bool:
        """Whether the process has grown beyond its bound."""
        return bool(self._max_memory) and resident_bytes() > self._max_memory

    def over(self, *, busy: bool) -> bool:
        """Whether no more is to be taken. To be asked often: one for suspects waits for some only so long."""
        if busy:
            self._idle_since = monotonic()
        if self.outgrown or self.full:
            return True
        return self._solo and monotonic() - self._idle_since > SOLO_PATIENCE
