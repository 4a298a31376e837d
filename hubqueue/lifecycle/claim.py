"""Claim: give due jobs to a worker, each with a new fence, in one statement and one short commit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from uuid import UUID

import msgspec

from hubqueue.lifecycle.database import connection, text_array
from hubqueue.lifecycle.guard import Claimed, read_claimed
from hubqueue.lifecycle.opening import ask
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
    rows = _ask(
        "claim",
        str(worker).encode(),
        msgspec.json.encode(asked),
        b"%d" % total,
        text_array(tuple(kinds)),
        msgspec.json.encode(groups),
        b"" if most is None else b"%d" % most,
        using=using,
    )
    answers = {queue.decode(): (turns, floors) for queue, turns, floors, _ in rows}
    for look in looks:
        look.end(answers.get(look.lane.queue))
    return _claimed([jobs for *_, jobs in rows], tell=tell)


def claim_lane(
    worker: UUID, lane: Lane, room: int, kinds: Sequence[str], *, tell: bool = True, using: str
) -> list[Claimed]:
    """Claim up to ``room`` due jobs of one lane, as ``claim`` does but without company: the quickest way to a job."""
    look = Look(lane)
    rows = _ask(
        "claim_lane",
        str(worker).encode(),
        lane.queue.encode(),
        b"%d" % room,
        text_array(tuple(kinds)),
        msgspec.json.encode(lane.turns),
        msgspec.json.encode(look.floors),
        using=using,
    )
    look.end(rows[-1][:2] if rows else None)
    return _claimed([jobs for *_, jobs in rows], tell=tell)


class Look:
    """One look into a lane, now and then a full one."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._began = monotonic()
        self._full = self._began >= lane.full_look_at

    @property
    def floors(self) -> dict[str, list[str]]:
        """From where on the server is to look."""
        return {} if self._full else self.lane.floors

    def end(self, answer: Sequence[bytes] | None) -> None:
        """Remember the turns and floors that were answered, if something was claimed."""
        lane = self.lane
        if self._full:
            took = monotonic() - self._began
            lane.full_look_at = self._began + min(took * FULL_LOOK_SHARE, FULL_LOOK_WITHIN)
        if answer is not None:
            turns, floors = map(msgspec.json.decode, answer)
            lane.turns = turns
            lane.floors = floors if self._full else lane.floors | floors


def _ask(name: str, *values: bytes, using: str) -> list[tuple[bytes, ...]]:
    """The answer's rows as they came. Without a cursor, which takes an idle process a fifth of the claim's time."""
    ours = connection(using)
    ours.ensure_connection()
    ours.validate_no_broken_transaction()
    with ours.wrap_database_errors:
        (told,) = ask(ours.connection, _statement(name), *values)
    return [
        tuple(told.get_value(row, column) or b"" for column in range(told.nfields))
        for row in range(told.ntuples)
    ]


@cache
def _statement(name: str) -> bytes:
    return sql(name).encode()


def _claimed(answers: Sequence[bytes], *, tell: bool) -> list[Claimed]:
    claimed = [each for jobs in answers for each in read_claimed(jobs)]
    if tell:
        tell_of(claimed)
    return claimed


def claim_suspect(
    worker: UUID, queues: Sequence[str], kinds: Sequence[str], *, tell: bool = True, using: str
) -> Claimed | None:
    """Claim the one suspect that is due longest, for a worker that runs nothing else. None when there is none."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            sql("claim_suspect"), {"worker": worker, "queues": list(queues), "kinds": list(kinds)}
        )
        rows = cursor.fetchall()
    found = [each for (jobs,) in rows for each in read_claimed(jobs)]
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
