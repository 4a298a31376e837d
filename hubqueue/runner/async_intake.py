"""How much a child claims for its event loop: as many jobs as may be in flight, beside what the threads do."""

from collections.abc import Callable, Iterable
from time import monotonic
from uuid import UUID

from hubqueue.lifecycle.claim import Lane, claim
from hubqueue.lifecycle.guard import Claimed
from hubqueue.runner.evloop import Evloop
from hubqueue.runner.hands import Batch
from hubqueue.runner.pace import Pace

# A claim for a few jobs costs as much as one for many: while most of the room is taken, claims are so far apart.
APART = 0.010


class AsyncIntake:
    """Claims ``async def`` jobs for one child. It has lanes and a pace of its own, so neither it nor the threads'
    intake starves the other; a queue's cap counts the jobs of both."""

    def __init__(
        self,
        worker: UUID,
        lanes: list[Lane],
        kinds: list[str],
        *,
        jobs: int,
        evloop: Evloop,
        beside: Callable[[], Iterable[Batch]],
        pace: Pace,
        using: str,
    ) -> None:
        self._worker = worker
        self._lanes = lanes
        self._kinds = kinds
        self._jobs = jobs
        self._evloop = evloop
        self._beside = beside
        self._using = using
        self._claimed_at = 0.0
        self.pace = pace

    @property
    def room(self) -> int:
        """How many more jobs may run."""
        return max(0, self._jobs - self._evloop.count) if self._kinds else 0

    @property
    def left(self) -> float | None:
        """Seconds until the next claim is due; None while there is no room."""
        room = self.room
        if not room:
            return None
        rest = 0.0 if room * 4 >= self._jobs else self._claimed_at + APART - monotonic()
        return max(0.0, rest, self.pace.left)

    def claim(self, *, at_most: int | None) -> list[Claimed]:
        """Claim for the room there is, each lane up to its cap."""
        room = self.room if at_most is None else min(self.room, at_most)
        if room <= 0:
            return []
        busy: dict[str, int] = {}
        for batch in [*self._evloop.batches, *self._beside()]:
            busy[batch.queue] = busy.get(batch.queue, 0) + 1
        rooms = [
            max(0, min(room, lane.cap - busy.get(lane.queue, 0))) if lane.cap else room
            for lane in self._lanes
        ]
        claimed = claim(
            self._worker, self._lanes, rooms, room, self._kinds, tell=False, using=self._using
        )
        self._claimed_at = monotonic()
        self._lanes.append(self._lanes.pop(0))
        self.pace.now() if claimed else self.pace.found_nothing()
        return claimed
