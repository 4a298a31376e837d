"""Steps of workers that look for work, and what may be given to whom."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from uuid import UUID

from django.db import transaction
from hypothesis import strategies as st

from hubqueue.lifecycle.claim import Lane, claim, claim_suspect
from hubqueue.lifecycle.guard import Claimed
from tests.model.book import Book, New
from tests.model.kinds import KINDS
from tests.model.moments import Span, is_over
from tests.model.row import READY, Row

EVERY = sorted(KINDS)
QUEUES = ["default", "mail"]


def place(row: Row) -> tuple[datetime, UUID]:
    """Where a row stands among those of its priority, oldest first."""
    return row.run_at, row.id


@dataclass(slots=True)
class Seat:
    """A lane that a worker keeps, and where its last looks found the oldest due job of each priority."""

    lane: Lane
    floors: dict[int, tuple[datetime, UUID]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """One look. ``rooms`` bound the lanes; ``full`` looks without floors, ``lost`` is rolled back."""

    worker: UUID
    rooms: dict[str, int]
    total: int
    kinds: tuple[str, ...]
    full: bool = True
    lost: bool = False

    def deed(self, book: Book, pick: int, seats: dict[str, Seat] | None = None) -> "Claiming":
        known = seats or {queue: Seat(Lane(queue, 0)) for queue in self.rooms}
        return Claiming(self, [known[queue] for queue in self.rooms])


@dataclass(slots=True)
class Claiming:
    """The look of one worker at its lanes."""

    what: Claim
    seats: list[Seat]

    def do(self) -> list[Claimed]:
        for seat in self.seats:  # never by the clock: a story is told twice alike
            seat.lane.full_look_at = 0.0 if self.what.full else inf
        if not self.what.lost:
            return self._claim()
        try:
            with transaction.atomic():
                found = self._claim()
                raise ConnectionError
        except ConnectionError:
            return found

    def _claim(self) -> list[Claimed]:
        return claim(
            self.what.worker,
            [seat.lane for seat in self.seats],
            list(self.what.rooms.values()),
            self.what.total,
            self.what.kinds,
            using="default",
        )

    def told(self, book: Book, answer: list[Claimed], now: Span, new: New) -> None:
        left, taken = list(answer), 0
        for seat, (queue, room) in zip(self.seats, self.what.rooms.items(), strict=True):
            mine = [each for each in left if each.queue == queue]
            assert left[: len(mine)] == mine, "lanes are served in the order given"
            left = left[len(mine) :]
            most = min(room, self.what.total - taken)
            taken += len(mine)
            may = [
                (row, sure)
                for row in book.in_order()
                if row.queue == queue and (sure := self._may(book, row, now)) is not False
            ]
            must = [row for row, sure in may if sure and self._is_looked_at(seat, row)]
            _check_lane(mine, {row.id: row for row, _ in may}, must, most)
            if not self._crowded(book, queue, may, now):
                check_turns(mine, must)
            if mine:  # a look that gives nothing leaves the floors where they are
                seat.floors = {} if self.what.full else seat.floors
                for level in {row.priority for row in must}:
                    seat.floors[level] = min(place(row) for row in must if row.priority == level)
        assert not left, "a job of a lane that was not asked for"
        for each in answer:
            if self.what.lost:
                # A claim that was lost with its commit: its fence is never given again.
                book.check_fence(book.rows[each.id], each)
                book.past[each.id, each.fence] = each
            else:
                book.begin(book.rows[each.id], each, self.what.worker, now)
        if not self.what.lost:
            book.locked |= {each.id for each in answer}

    def _may(self, book: Book, row: Row, now: Span) -> bool | None:
        """Whether the row may be claimed by us; None when its moment, or a pause's end, comes just now."""
        if row.state != READY or row.suspect or row.id in book.locked:
            return False
        if row.kind not in self.what.kinds:
            return False
        due, paused = is_over(row.run_at, now), book.is_paused(row, now)
        if due is False or paused is True:
            return False
        return None if due is None or paused is None else True

    def _is_looked_at(self, seat: Seat, row: Row) -> bool:
        """What is dated back behind a floor is left to the next look without floors."""
        return self.what.full or place(row) >= seat.floors.get(row.priority, place(row))

    def _crowded(
        self, book: Book, queue: str, may: list[tuple[Row, bool | None]], now: Span
    ) -> bool:
        """Whether due rows of the lane that are not for us take part in the turns."""
        ours = {row.id for row, sure in may if sure}
        return any(
            row.id not in ours
            and row.state == READY
            and row.queue == queue
            and is_over(row.run_at, now) is not False
            and book.is_paused(row, now) is False
            for row in book.rows.values()
        )


def _check_lane(mine: list[Claimed], may: dict[UUID, Row], must: list[Row], most: int) -> None:
    """No more than asked for, nothing that may not run, no idle room, the most urgent and the oldest first."""
    ids = [each.id for each in mine]
    assert len(set(ids)) == len(ids) <= most
    for each in mine:
        assert each.id in may, f"job {each.id} may not be claimed now"
    left = [row for row in must if row.id not in ids]
    assert len(ids) == most or not left, f"{len(left)} due jobs were left with room for them"
    urgencies = [each.priority for each in mine]
    assert urgencies == sorted(urgencies), "not in the order of their priority"
    for row in left:
        assert not urgencies or urgencies[-1] <= row.priority, "a more urgent job was left waiting"
        for each in mine:
            if (each.tenant, each.priority) == (row.tenant_id, row.priority):
                assert (each.run_at, each.id) < (row.run_at, row.id), (
                    "an older job was left waiting"
                )


def check_turns(mine: list[Claimed], must: list[Row]) -> None:
    """Of the priority that did not get through, as many tenants as possible had a job started."""
    for level in {each.priority for each in mine}:
        got = [each for each in mine if each.priority == level]
        tenants = {row.tenant_id for row in must if row.priority == level}
        served = {each.tenant for each in got}
        assert len(served) >= min(len(got), len(tenants)), "a tenant was served twice before others"


@dataclass(frozen=True, slots=True)
class ClaimSuspect:
    """The look of a worker that runs nothing else."""

    worker: UUID
    kinds: tuple[str, ...]

    def deed(self, book: Book, pick: int) -> "ClaimSuspect":
        return self

    def do(self) -> Claimed | None:
        return claim_suspect(self.worker, QUEUES, self.kinds, using="default")

    def told(self, book: Book, answer: Claimed | None, now: Span, new: New) -> None:
        may = {
            row.id: is_over(row.run_at, now)
            for row in book.rows.values()
            if row.state == READY
            and row.suspect
            and row.kind in self.kinds
            and row.id not in book.locked
            and is_over(row.run_at, now) is not False
            and not book.is_paused(row, now)
        }
        if answer is None:
            assert True not in may.values(), "a suspect that is due was not found"
            return
        assert answer.id in may, "this is no suspect that may run"
        assert all(book.rows[answer.id].run_at <= book.rows[each].run_at for each in may), (
            "not the one that is due longest"
        )
        book.begin(book.rows[answer.id], answer, self.worker, now)
        book.locked |= {answer.id}


def claims(workers: Sequence[UUID]) -> st.SearchStrategy[Claim]:
    """Looks of these workers, through one lane or two."""
    rooms = st.sampled_from([1, 2, 4, 12])
    return st.builds(
        Claim,
        worker=st.sampled_from(list(workers)),
        rooms=st.one_of(
            st.fixed_dictionaries({"default": rooms}),
            st.fixed_dictionaries({"mail": rooms, "default": rooms}),
            st.fixed_dictionaries({"default": rooms, "mail": rooms}),
        ),
        total=st.sampled_from([30, 30, 3, 1]),
        kinds=st.sampled_from([tuple(EVERY), tuple(EVERY), ("model.plain",), ("model.mail",)]),
        full=st.booleans(),
        lost=st.sampled_from([False] * 9 + [True]),
    )
