"""The supervisor's memory of its children: who they are, what each has in flight and until when."""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from uuid import UUID

from hubqueue.runner.wire import Wire


@dataclass(frozen=True, slots=True)
class InFlight:
    """A started attempt. ``deadline`` is on the supervisor's own clock: past it the child is ended."""

    fence: int
    deadline: float


@dataclass(slots=True, eq=False)
class Child:
    """A child process. ``number`` is its place among the regular children, None for a solo or the scheduler."""

    worker: UUID
    number: int | None
    role: str
    popen: subprocess.Popen[bytes]
    wire: Wire
    started_at: float = field(default_factory=monotonic)
    heard_at: float = field(default_factory=monotonic)
    listen_age: float | None = None
    registered: bool = False
    in_flight: dict[UUID, InFlight] = field(default_factory=dict)
    stops_told: set[tuple[UUID, str]] = field(default_factory=set)
    blocked_by: UUID | None = None
    killed_for: set[UUID] = field(default_factory=set)
    mute: bool = False
    ended_by_us: bool = False

    @property
    def solo(self) -> bool:
        return self.role == "solo"


class Crew:
    """The children that are alive, and the progress they told. Shared by the supervisor's threads."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.children: list[Child] = []
        self._shares: dict[UUID, tuple[int, float]] = {}

    def workers(self) -> list[UUID]:
        """The ids whose leases are to be renewed."""
        with self.lock:
            return [child.worker for child in self.children if child.registered]

    def add_share(self, job_id: UUID, fence: int, share: float) -> None:
        with self.lock:
            self._shares[job_id] = (fence, share)

    def take_shares(self) -> list[tuple[UUID, int, float]]:
        with self.lock:
            shares = [(job_id, fence, share) for job_id, (fence, share) in self._shares.items()]
            self._shares.clear()
        return shares

    def give_back(
        self, shares: Iterable[tuple[UUID, int, float]], started: Iterable[Mapping[UUID, InFlight]]
    ) -> None:
        """Keep what could not be written for the next round, while its attempt runs and nothing newer was told."""
        running = {job_id: each.fence for jobs in started for job_id, each in jobs.items()}
        with self.lock:
            for job_id, fence, share in shares:
                if running.get(job_id) == fence:
                    self._shares.setdefault(job_id, (fence, share))
