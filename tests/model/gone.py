"""Steps around workers: their rows and leases, and what is taken back from those that are gone."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from hubqueue.lifecycle import workers
from hubqueue.lifecycle.rescue import Sweep, rescue
from hubqueue.lifecycle.settle import Settled
from hubqueue.registry import registry
from tests.model.book import Book, New
from tests.model.endings import Ending, check_settled, end
from tests.model.kinds import BACKOFF
from tests.model.moments import Moment, Span, is_over, span
from tests.model.row import Row

LEASE = timedelta(minutes=15)
INSTANT = timedelta(microseconds=1)

# Its sessions are there, cannot be seen, are gone; and one that runs suspects, one at a time.
SEEN, HIDDEN, SILENT, SOLO = (UUID(int=number) for number in range(1, 5))
CREW = [SEEN, HIDDEN, SILENT, SOLO]


@dataclass(frozen=True, slots=True)
class Attend:
    """Register, renew or remove the row of a worker."""

    what: str
    worker: UUID

    def deed(self, book: Book, pick: int) -> "Attend":
        return self

    def do(self) -> Any:
        match self.what:
            case "register":
                child = workers.Registration(
                    id=self.worker,
                    host="here",
                    pid=1,
                    queues=["default"],
                    kinds=[],
                    solo=self.worker == SOLO,
                    sessions_visible=self.worker in (SEEN, SILENT),
                )
                return workers.register(child, lease=LEASE, using="default")
            case "renew":
                return workers.renew(CREW, lease=LEASE, using="default")
            case _:
                return workers.remove(self.worker, using="default")

    def told(self, book: Book, answer: Any, now: Span, new: New) -> None:
        match self.what:
            case "register":
                book.leases[self.worker] = now + LEASE
            case "renew":
                assert answer == set(book.leases)
                for worker in answer:
                    book.leases[worker] = now + LEASE
            case _:
                book.leases.pop(self.worker, None)


@dataclass(frozen=True, slots=True)
class Reap:
    """A supervisor reaps its child: it knows what was in flight, and what it was ended for."""

    worker: UUID
    started: tuple[bool, ...]
    timed_out: bool

    def deed(self, book: Book, pick: int) -> "Reaping":
        held = book.held_by(self.worker)
        started = [
            row.id for row, is_started in zip(held, self.started, strict=False) if is_started
        ]
        return Reaping(self.worker, started, started[: int(self.timed_out)])


@dataclass(slots=True)
class Reaping:
    worker: UUID
    started: list[UUID]
    timed_out: list[UUID]

    def do(self) -> list[Settled]:
        return rescue(
            self.worker,
            cause="reaped",
            alone=self.worker == SOLO,
            using="default",
            in_flight=self.started,
            timed_out=self.timed_out,
            find_work=registry.find,
        )

    def told(self, book: Book, answer: list[Settled], now: Span, new: New) -> None:
        settled = {each.id: each for each in answer}
        for row in book.held_by(self.worker):
            after = _rescued(
                book,
                row,
                now,
                new,
                started=row.id in self.started,
                alone=self.worker == SOLO,
                timed_out=row.id in self.timed_out,
            )
            check_settled(settled.pop(row.id), after)
        assert not settled, "more was taken than the worker held"


def _rescued(
    book: Book,
    row: Row,
    now: Span,
    new: New,
    *,
    started: bool,
    alone: bool,
    timed_out: bool = False,
) -> Row:
    """Not started: as if nothing had been. In flight: a suspect, unspent unless it was alone."""
    if timed_out:
        ending = Ending("rescue", spend=True, code="timeout", suspect=None)
    elif not started:
        ending = Ending("rescue", spend=False, suspect=None)
    else:
        ending = Ending("rescue", spend=alone, code="worker_died", suspect=True)
    before = book.rows[row.id]
    after = end(book, book.live[row.id], ending, now, new)
    if ending.spend and isinstance(after.run_at, type(before.run_at)):
        # It waits for its backoff, or for nobody when it is out of attempts: who claims it next gives it up.
        wide: Moment = Span(
            min(span(before.run_at).earliest, now.earliest), now.latest + BACKOFF.cap
        )
        after = book.change(after, run_at=wide)
    book.locked |= {row.id}
    return after


@dataclass(slots=True)
class Look:
    """A sweep's look at who is gone. ``sweep`` and ``silent`` last as long as the story."""

    sweep: Sweep = field(
        default_factory=lambda: Sweep(
            "default", apart=INSTANT, calm=timedelta(0), find_work=registry.find
        )
    )
    silent: dict[UUID, Moment] = field(default_factory=dict)

    def deed(self, book: Book, pick: int) -> "Look":
        return self

    def do(self) -> list[Settled]:
        return self.sweep.once()

    def told(self, book: Book, answer: list[Settled], now: Span, new: New) -> None:
        """Taken from are those whose lease passed or whose row is missing, and who was silent twice."""
        settled = {each.id: each for each in answer}
        seen = self.silent
        self.silent = {}
        for worker in CREW:
            held = book.held_by(worker)
            if not held:
                continue
            lease = book.leases.get(worker)
            if lease is not None and not is_over(lease, now):
                if worker != SILENT:
                    continue
                self.silent[worker] = lease
                if seen.get(worker) != lease:
                    continue
            alone = worker == SOLO and lease is not None
            for row in held:
                check_settled(
                    settled.pop(row.id), _rescued(book, row, now, new, started=True, alone=alone)
                )
            book.leases.pop(worker, None)
        assert not settled, "something was taken from a worker that lives"


ATTEND = st.builds(
    Attend,
    what=st.sampled_from(["register", "register", "renew", "renew", "remove"]),
    worker=st.sampled_from(CREW),
)
REAP = st.builds(
    Reap,
    worker=st.sampled_from(CREW),
    started=st.tuples(*[st.booleans()] * 8),
    timed_out=st.booleans(),
)
