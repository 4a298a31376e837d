"""Steps of officers: verbs on a job, redrive in bulk, pause and resume, and the purge."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from hubqueue import officers
from hubqueue.errors import MoveRefused, Superseded
from hubqueue.lifecycle.purge import Walk, purge_jobs
from hubqueue.lifecycle.redrive import Answer
from hubqueue.querysets import database_now
from tests.model.book import Book, New
from tests.model.deed import pick_from
from tests.model.moments import Span, is_over
from tests.model.row import CANCELLED, DEAD, PARKED, READY, RUNNING, SUCCEEDED, Row

WHY = {"actor": "pat", "reason": "because"}
NOBODY = UUID(int=99)
KEEP_FINISHED, KEEP_DEAD = timedelta(minutes=30), timedelta(minutes=90)

VERBS = {
    "park": officers.park,
    "release": officers.release,
    "run now": officers.run_now,
    "cancel": officers.cancel,
    "redrive": officers.redrive,
    "dismiss": officers.dismiss,
}
FITTING = {
    "park": {READY, RUNNING},
    "release": {PARKED},
    "run now": {READY, PARKED},
    "cancel": {READY, RUNNING, PARKED},
    "redrive": {DEAD},
    "dismiss": {DEAD},
}


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb on one of the jobs; mostly one that it fits."""

    name: str
    fitting: bool

    def deed(self, book: Book, pick: int) -> "Saying | None":
        rows = [
            row for row in book.in_order() if not self.fitting or row.state in FITTING[self.name]
        ]
        row = pick_from(rows, pick)
        if row is None:
            return None if self.fitting else Saying(self.name, NOBODY)
        return Saying(self.name, row.id)


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask a job that runs to stop."""

    name: str

    def deed(self, book: Book, pick: int) -> "Saying | None":
        claimed = pick_from(list(book.live.values()), pick)
        return None if claimed is None else Saying(self.name, claimed.id)


@dataclass(slots=True)
class Saying:
    name: str
    job_id: UUID

    def do(self) -> Any:
        try:
            return VERBS[self.name](self.job_id, **WHY)
        except MoveRefused as refused:
            return refused

    def told(self, book: Book, answer: Any, now: Span, new: New) -> None:
        row = book.rows.get(self.job_id)
        refusal = self._refusal(book, row)
        if refusal is not None:
            assert isinstance(answer, MoveRefused), f"{self.name} was not refused: {answer!r}"
            assert refusal == (answer.code, answer.by if isinstance(answer, Superseded) else None)
            return
        assert row is not None
        assert not isinstance(answer, MoveRefused), f"{self.name} was refused: {answer!r}"
        after = self._move(book, row, now, new)
        assert answer == after.state
        book.entries[f"{self.name} {row.id}"] = book.entries.get(f"{self.name} {row.id}", 0) + 1
        book.locked |= {row.id}

    def _refusal(self, book: Book, row: Row | None) -> tuple[str, UUID | None] | None:
        if row is None:
            return ("unknown_job", None)
        if row.state not in FITTING[self.name]:
            return ("wrong_state", None)
        standing = book.standing(row.kind, row.dedupe_key) if self.name == "redrive" else None
        return ("superseded", standing.id) if standing else None

    def _move(self, book: Book, row: Row, now: Span, new: New) -> Row:
        why = WHY["reason"]
        match self.name:
            case "park" if row.state == RUNNING:
                return book.change(row, stop_requested="park", park_reason=why)
            case "park":
                return book.change(row, state=PARKED, park_reason=why)
            case "release":
                return book.change(row, state=READY, park_reason=None)
            case "run now":
                return book.change(row, state=READY, run_at=now, park_reason=None)
            case "cancel" if row.state == RUNNING:
                return book.change(row, stop_requested="cancel", park_reason=None)
            case "cancel":
                after = book.change(row, state=CANCELLED, finished_at=now, park_reason=None)
                if row.rerun_at is None:
                    book.events.append(("dropped", after))
                book.abandon(after, now, new)
                return after
            case "redrive":
                return book.change(row, **_redriven(now))
            case _:
                return book.change(row, state=CANCELLED)


def _redriven(now: Span) -> dict[str, Any]:
    return {
        "state": READY,
        "run_at": now,
        "attempts": 0,
        "failing_since": None,
        "finished_at": None,
    }


@dataclass(frozen=True, slots=True)
class RedriveMany:
    """Redrive a selection of the jobs, whatever their states, and one that is not there."""

    which: tuple[bool, ...]
    dead_only: bool

    def deed(self, book: Book, pick: int) -> "Redriving":
        rows = [row for row in book.in_order() if not self.dead_only or row.state == DEAD]
        ids = [row.id for row, wanted in zip(rows, self.which, strict=False) if wanted]
        return Redriving([*reversed(ids), NOBODY])


@dataclass(slots=True)
class Redriving:
    ids: list[UUID]

    def do(self) -> list[Answer]:
        return list(officers.redrive_many(self.ids, **WHY))

    def told(self, book: Book, answer: list[Answer], now: Span, new: New) -> None:
        """The newest dead letter of a key first; an answer per row, in the order given."""
        assert [each.job_id for each in answer] == self.ids
        said = {each.job_id: each for each in answer}
        for job_id in sorted(self.ids, reverse=True):
            row = book.rows.get(job_id)
            refusal = Saying("redrive", job_id)._refusal(book, row)
            if refusal is not None:
                code, by = refusal
                assert (said[job_id].state, said[job_id].code) == (None, code)
                assert by is None or str(by) in said[job_id].message
                continue
            assert row is not None
            assert said[job_id].state == READY
            book.change(row, **_redriven(now))
            book.entries[f"redrive {row.id}"] = book.entries.get(f"redrive {row.id}", 0) + 1
            book.locked |= {row.id}


@dataclass(frozen=True, slots=True)
class Shut:
    """Pause or resume a queue, kind or tenant. ``minutes`` until it ends by itself (None = never)."""

    pause: bool
    scope: str
    value: str
    minutes: int | None

    def deed(self, book: Book, pick: int) -> "Shutting | None":
        if self.pause:
            return Shutting(self.scope, self.value, pause=True, minutes=self.minutes)
        name = pick_from(sorted(book.pauses), pick) or (self.scope, self.value)
        return Shutting(*name, pause=False, minutes=None)


@dataclass(slots=True)
class Shutting:
    scope: str
    value: str
    pause: bool
    minutes: int | None
    until: Any = None

    def do(self) -> Any:
        if self.minutes is not None:
            self.until = database_now("default") + timedelta(minutes=self.minutes)
        try:
            if self.pause:
                return officers.pause(self.scope, self.value, until=self.until, **WHY)
            return officers.resume(self.scope, self.value, **WHY)
        except MoveRefused as refused:
            return refused

    def told(self, book: Book, answer: Any, now: Span, new: New) -> None:
        name = (self.scope, self.value)
        if not self.pause and name not in book.pauses:
            assert isinstance(answer, MoveRefused)
            assert answer.code == "not_paused"
            return
        assert not isinstance(answer, MoveRefused)
        entry = f"{'pause' if self.pause else 'resume'} {self.scope} {self.value}"
        book.entries[entry] = book.entries.get(entry, 0) + 1
        if self.pause:
            book.pauses[name] = self.until
        else:
            del book.pauses[name]


@dataclass(frozen=True, slots=True)
class Purge:
    """Remove what has been finished for long enough."""

    def deed(self, book: Book, pick: int) -> "Purge":
        return self

    def do(self) -> int:
        return purge_jobs(
            Walk(),
            now=database_now("default"),
            keep_finished=KEEP_FINISHED,
            keep_dead=KEEP_DEAD,
            within=timedelta(seconds=5),
            using="default",
        )

    def told(self, book: Book, answer: int, now: Span, new: New) -> None:
        gone = [row for row in book.rows.values() if self._may_go(row, now) is True]
        gone = [row for row in gone if row.id not in book.locked]
        assert answer == len(gone)
        for row in gone:
            del book.rows[row.id]
            book.failures.pop(row.id, None)

    def _may_go(self, row: Row, now: Span) -> bool | None:
        if row.state in (SUCCEEDED, CANCELLED):
            return is_over(row.finished_at + KEEP_FINISHED, now)
        return row.state == DEAD and is_over(row.finished_at + KEEP_DEAD, now)


VERB = st.builds(
    Verb,
    name=st.sampled_from(sorted(VERBS)),
    fitting=st.sampled_from([True, True, True, False]),
)
STOP = st.builds(Stop, name=st.sampled_from(["cancel", "park"]))
REDRIVE_MANY = st.builds(
    RedriveMany,
    which=st.one_of(st.just((True,) * 12), st.tuples(*[st.booleans()] * 12)),
    dead_only=st.booleans(),
)
SHUT = st.one_of(
    st.builds(
        Shut,
        pause=st.sampled_from([True, True, False]),
        scope=st.just(scope),
        value=st.sampled_from(values),
        minutes=st.sampled_from([None, 10, 40]),
    )
    for scope, values in (
        ("queue", ["default", "mail"]),
        ("kind", ["model.plain", "model.mail"]),
        ("tenant", ["a", "b"]),
        ("tenant", ["a", "b"]),
    )
)
