"""The supervisor's memory of its children: who they are, what each has in flight and until when."""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic
from uuid import UUID

from hubqueue.runner.board import Board, InFlight
from hubqueue.runner.wire import Wire


@dataclass(slots=True, eq=False)
class Child:
    """A child process. ``number`` is its place among the regular children, None for a solo or the scheduler."""

    worker: UUID
    number: int | None
    role: str
    popen: subprocess.Popen[bytes]
    wire: Wire
    board: Board | None = None
    started_at: float = field(default_factory=monotonic)
    heard_at: float = field(default_factory=monotonic)
    listen_age: float | None = None
    registered: bool = False
    stops_told: set[tuple[UUID, int, str]] = field(default_factory=set)
    blocked_by: UUID | None = None
    granted: dict[UUID, float] = field(default_factory=dict)
    killed_for: set[UUID] = field(default_factory=set)
    mute: bool = False
    ended_by_us: bool = False

    @property
    def in_flight(self) -> dict[UUID, InFlight]:
        """What it has started and not settled, also after its death."""
        board = self.board
        found = {} if board is None else board.read()
        for job_id, later in self.granted.items():
            if job_id in found:
                found[job_id] = replace(found[job_id], deadline=max(later, found[job_id].deadline))
        return found

    def grant(self, jobs: Iterable[UUID], deadline: float) -> None:
        """Give these until then."""
        self.granted = {
            **{job_id: at for job_id, at in self.granted.items() if at > monotonic()},
            **dict.fromkeys(jobs, deadline),
        }

    def close(self) -> None:
        """Let go of what was shared with it."""
        self.wire.close()
        self.board = None

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
