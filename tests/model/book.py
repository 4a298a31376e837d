"""What the contract says the rows are: the model that every answer and every row is compared with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from hubqueue.lifecycle.guard import Claimed
from tests.model.moments import Moment, Span, is_over
from tests.model.row import CANCELLED, DEAD, RUNNING, Row

New = Callable[[], Sequence[dict[str, Any]]]

KEPT_FAILURES = 20
ABSENT = object()


@dataclass(frozen=True, slots=True)
class Failed:
    """An entry of a job's history."""

    attempt: int
    spent: bool
    code: str


@dataclass
class Book:
    """All that is committed. Every part is a dictionary, so that what two transactions wrote can be put together.

    ``live`` are the attempts that hold their job, ``past`` those that did. ``locked`` are rows that somebody's
    open transaction holds just now.
    """

    rows: dict[UUID, Row] = field(default_factory=dict)
    failures: dict[UUID, tuple[Failed, ...]] = field(default_factory=dict)
    pauses: dict[tuple[str, str], datetime | None] = field(default_factory=dict)
    leases: dict[UUID, Moment] = field(default_factory=dict)
    live: dict[UUID, Claimed] = field(default_factory=dict)
    past: dict[tuple[UUID, int], Claimed] = field(default_factory=dict)
    entries: dict[str, int] = field(default_factory=dict)
    locked: frozenset[UUID] = frozenset()
    events: list[tuple[str, Row]] = field(default_factory=list)
    abandoned: list[UUID] = field(default_factory=list)

    PARTS = ("rows", "failures", "pauses", "leases", "live", "past", "entries")

    def copy(self) -> "Book":
        """The same book, to write another story into."""
        parts = {name: dict(getattr(self, name)) for name in self.PARTS}
        return Book(**parts, events=list(self.events), abandoned=list(self.abandoned))

    def join(self, before: "Book", other: "Book") -> None:
        """Add what ``other`` wrote since ``before``: two transactions side by side never wrote the same."""
        for name in self.PARTS:
            mine, old, new = getattr(self, name), getattr(before, name), getattr(other, name)
            for key in {**old, **new}:  # in order: a story is told twice alike
                if old.get(key, ABSENT) == new.get(key, ABSENT):
                    continue
                assert mine.get(key, ABSENT) == old.get(key, ABSENT), (
                    f"two transactions wrote {name} {key} at once"
                )
                if key in new:
                    mine[key] = new[key]
                else:
                    del mine[key]
        self.events = other.events + self.events
        self.abandoned = other.abandoned + self.abandoned

    # What the steps ask.

    def standing(self, kind: str, key: str | None) -> Row | None:
        """The one unfinished job of a key."""
        if key is None:
            return None
        found = [
            row
            for row in self.rows.values()
            if row.unfinished and (row.kind, row.dedupe_key) == (kind, key)
        ]
        assert len(found) <= 1
        return found[0] if found else None

    def in_order(self) -> list[Row]:
        """All rows, oldest id first."""
        return sorted(self.rows.values(), key=lambda row: row.id)

    def held_by(self, worker: UUID) -> list[Row]:
        """What a worker runs."""
        return [row for row in self.in_order() if row.state == RUNNING and row.claimed_by == worker]

    def is_paused(self, row: Row, now: Span) -> bool | None:
        """Whether claims pass it over; None when a pause ends just now."""
        names = (("queue", row.queue), ("kind", row.kind), ("tenant", row.tenant_id or ""))
        answers = [
            self.pauses[name] is None or not_over(self.pauses[name], now)
            for name in names
            if name in self.pauses
        ]
        return True if True in answers else None if None in answers else False

    # What the steps write.

    def change(self, row: Row, **values: Any) -> Row:
        """Make a move."""
        after = self.rows[row.id] = row.changed(**values)
        return after

    def add(self, row: Row) -> None:
        """A job is born."""
        assert row.id not in self.rows, "an id was given twice"
        assert self.standing(row.kind, row.dedupe_key) is None, "two unfinished jobs of one key"
        self.rows[row.id] = row

    def begin(self, row: Row, claimed: Claimed, worker: UUID, now: Span) -> None:
        """A claim: one more attempt under a new fence. A wake-up that is due is served by this run."""
        self.check_fence(row, claimed)
        assert claimed.claimed_at in now
        rerun = row.rerun_at
        if rerun is not None and is_over(rerun, Span(claimed.claimed_at, claimed.claimed_at)):
            rerun = None
        after = self.change(
            row,
            state=RUNNING,
            attempts=row.attempts + 1,
            fence=claimed.fence,
            claimed_by=worker,
            claimed_at=claimed.claimed_at,
            progress=None,
            rerun_at=rerun,
        )
        assert claimed == claimed_of(after)
        self.live[row.id] = claimed
        self.events.append(("began", after))

    def check_fence(self, row: Row, claimed: Claimed) -> None:
        """A fence only grows and is never given twice, those of claims that were lost included."""
        given = [row.fence, *(fence for job_id, fence in self.past if job_id == row.id)]
        assert claimed.fence > max(given), "a fence was given twice"

    def fail(self, job_id: UUID, failed: Failed) -> None:
        """Add to the history, which keeps the newest."""
        self.failures[job_id] = (*self.failures.get(job_id, ()), failed)[-KEPT_FAILURES:]

    def lose(self, job_id: UUID) -> None:
        """The attempt that held the job holds it no more."""
        claimed = self.live.pop(job_id)
        self.past[job_id, claimed.fence] = claimed

    def abandon(self, row: Row, now: Span, new: New) -> None:
        """Given up for good: the hook runs, and a wake-up that is pending is served by a new job.

        ``new`` reads the rows that the database has and the model has not: only the new job's id is taken from it.
        """
        assert row.state in (DEAD, CANCELLED)
        self.abandoned.append(row.id)
        if row.rerun_at is None:
            return
        self.rows[row.id] = replace(row, rerun_at=None)
        ids = [
            each["id"]
            for each in new()
            if (each["kind"], each["dedupe_key"]) == (row.kind, row.dedupe_key)
            and each["id"] not in self.rows
        ]
        assert len(ids) == 1, "nobody serves the wake-up of a job that was given up"
        self.add(
            Row(
                id=ids[0],
                kind=row.kind,
                queue=row.queue,
                priority=row.priority,
                tenant_id=row.tenant_id,
                payload=row.payload,
                dedupe_key=row.dedupe_key,
                run_at=row.rerun_at,
                max_attempts=row.max_attempts,
                created_at=now,
                meta=row.meta,
            )
        )


def not_over(moment: Moment | None, now: Span) -> bool | None:
    """The other way round of ``is_over``."""
    assert moment is not None
    over = is_over(moment, now)
    return None if over is None else not over


def claimed_of(row: Row) -> Claimed:
    """What the attempt that holds the row is told."""
    return Claimed(
        id=row.id,
        kind=row.kind,
        queue=row.queue,
        priority=row.priority,
        tenant=row.tenant_id,
        payload=row.payload,
        dedupe_key=row.dedupe_key,
        run_at=row.run_at,
        attempts=row.attempts,
        max_attempts=row.max_attempts,
        failing_since=row.failing_since,
        fence=row.fence,
        suspect=row.suspect,
        meta=row.meta,
        created_at=row.created_at,
        claimed_at=row.claimed_at,
        claimed_by=row.claimed_by,
    )
