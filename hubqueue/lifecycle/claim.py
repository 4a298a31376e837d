"""Claim: give due jobs to a worker, each with a new fence, in one statement and one short commit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from uuid import UUID

import msgspec

from hubqueue.lifecycle.database import connection, text_array
from hubqueue.lifecycle.guard import Claimed, read_claimed
from hubqueue.lifecycle.opening import ask, literal
from hubqueue.lifecycle.sql import sql
from hubqueue.signals import Pickup, jobs_claimed

# A look without floors is made after so many times of what the last one took: at most 3 % of the time.
FULL_LOOK_SHARE = 30
# But no more than so many seconds apart: what took long may have been the network, and what was handed back waits.
FULL_LOOK_WITHIN = 10.0


@dataclass(slots=True)
class Lane:
    """A queue as one worker serves it: how many of its jobs may run here (0 = any), whose turn it is.

    ``turns`` says per priority which tenant was served last. ``floors`` says per priority where the oldest due job
    was at the last claim, its moment and its id: the next one looks no further back, except now and then
    (``full_look_at``, on the process's clock), for jobs that were dated back.
    """

    queue: str
    cap: int
    turns: dict[str, str] = field(default_factory=dict)
    floors: dict[str, list[str]] = field(default_factory=dict)
    full_look_at: float = 0.0


class Together(msgspec.Struct, frozen=True):
    """A kind by all its ``names``: ``size`` of its jobs share a commit; a claim fills up to ``batches`` of those."""

    names: list[str]
    size: int
    batches: int


def claim(
    worker: UUID,
    lanes: Sequence[Lane],
    rooms: Sequence[int],
    total: int,
    kinds: Sequence[str],
    *,
    groups: Sequence[Together] = (),
    most: int | None = None,
    tell: bool = True,
    using: str,
) -> list[Claimed]:
    """Claim up to ``total`` due jobs of ``kinds``, up to ``rooms[i]`` of ``lanes[i]``, lanes in the order given.

    A job of one of ``groups`` brings more of its kind, up to ``most`` jobs in all.

    Inside a lane: priority (strict), turns over tenants from ``lane.turns`` on, then age. Remembers
    the tenants served last in the lane. What is paused, and suspects, are passed over. Without ``tell``, ``tell_of``
    is to be called with what was claimed, once it is under way.
    """
    looks = [Look(lane) for lane in lanes]
    asked = [
        {"queue": look.lane.queue, "room": room, "turns": look.lane.turns, "floors": look.floors}
        for look, room in zip(looks, rooms, strict=True)
    ]
    text = _written(
        "claim",
        str(worker).encode(),
        msgspec.json.encode(asked),
        b"%d" % total,
        text_array(tuple(kinds)),
        msgspec.json.encode(groups),
        b"" if most is None else b"%d" % most,
        using=using,
    )
    rows = _rows(text, using=using)
    answers = {queue.decode(): (turns, floors) for queue, turns, floors, _ in rows}
    for look in looks:
        look.end(answers.get(look.lane.queue))
    claimed = _claimed(jobs for *_, jobs in rows)
    if tell:
        tell_of(claimed)
    return claimed


class LaneClaim:
    """A claim of up to ``room`` due jobs of one lane, by the rules of ``claim`` but without company, written down
    before it is asked: the quickest way to what a bell rang for."""

    def __init__(
        self, worker: UUID, lane: Lane, room: int, kinds: Sequence[str], *, using: str
    ) -> None:
        self.lane = lane
        self.room = room
        self._using = using
        self._written_of = lane.turns, lane.floors
        self._texts = {
            full: _written(
                "claim_lane",
                str(worker).encode(),
                lane.queue.encode(),
                b"%d" % room,
                text_array(tuple(kinds)),
                msgspec.json.encode(lane.turns),
                msgspec.json.encode({} if full else lane.floors),
                using=using,
            )
            for full in (False, True)
        }

    def holds(self, room: int) -> bool:
        """Whether it is what is to be asked now: the room is the same, and nothing was claimed in between."""
        turns, floors = self._written_of
        return self.room == room and self.lane.turns is turns and self.lane.floors is floors

    def ask(self, *, meanwhile: Callable[[], None] = lambda: None) -> list[Claimed]:
        """Claim, and call ``meanwhile`` while the server works. ``tell_of`` is to be called with what was claimed."""
        look = Look(self.lane)
        rows = _rows(self._texts[look.full], meanwhile=meanwhile, using=self._using)
        look.end(rows[-1][:2] if rows else None)
        return _claimed(jobs for *_, jobs in rows)


class Look:
    """One look into a lane, now and then a full one."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._began = monotonic()
        self.full = self._began >= lane.full_look_at

    @property
    def floors(self) -> dict[str, list[str]]:
        """From where on the server is to look."""
        return {} if self.full else self.lane.floors

    def end(self, answer: Sequence[bytes] | None) -> None:
        """Remember the turns and floors that were answered, if something was claimed."""
        lane = self.lane
        if self.full:
            took = monotonic() - self._began
            lane.full_look_at = self._began + min(took * FULL_LOOK_SHARE, FULL_LOOK_WITHIN)
        if answer is not None:
            turns, floors = map(msgspec.json.decode, answer)
            lane.turns = turns
            lane.floors = floors if self.full else lane.floors | floors


def _written(name: str, *values: bytes, using: str) -> bytes:
    """A statement with its values."""
    ours = connection(using)
    ours.ensure_connection()
    with ours.wrap_database_errors:
        return _statement(name) % tuple(literal(ours.connection, each) for each in values)


def _rows(
    text: bytes, *, meanwhile: Callable[[], None] = lambda: None, using: str
) -> list[tuple[bytes, ...]]:
    """The answer's rows as they came. Without a cursor, which takes an idle process a fifth of the claim's time."""
    ours = connection(using)
    ours.ensure_connection()
    ours.validate_no_broken_transaction()
    with ours.wrap_database_errors:
        (told,) = ask(ours.connection, text, meanwhile=meanwhile)
    return [
        tuple(told.get_value(row, column) or b"" for column in range(told.nfields))
        for row in range(told.ntuples)
    ]


@cache
def _statement(name: str) -> bytes:
    return sql(name).encode()


def _claimed(answers: Iterable[bytes]) -> list[Claimed]:
    return [each for jobs in answers for each in read_claimed(jobs)]


def claim_suspect(
    worker: UUID, queues: Sequence[str], kinds: Sequence[str], *, tell: bool = True, using: str
) -> Claimed | None:
    """Claim the one suspect that is due longest, for a worker that runs nothing else. None when there is none."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            sql("claim_suspect"), {"worker": worker, "queues": list(queues), "kinds": list(kinds)}
        )
        rows = cursor.fetchall()
    found = _claimed(jobs for (jobs,) in rows)
    if tell:
        tell_of(found)
    return found[0] if found else None


def tell_of(claimed: Sequence[Claimed]) -> None:
    """Say who was picked up: ``jobs_claimed``."""
    if claimed:
        pickups = [
            Pickup(
                each.kind,
                each.queue,
                each.tenant,
                max(0.0, (each.claimed_at - each.run_at).total_seconds()),
            )
            for each in claimed
        ]
        jobs_claimed.send_robust(sender=None, pickups=pickups)
