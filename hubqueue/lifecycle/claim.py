"""Claim: give due jobs to a worker, each with a new fence, in one statement and one short commit."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID

import msgspec

from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.guard import Claimed, read_claimed
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
    using: str,
) -> list[Claimed]:
    """Claim up to ``total`` due jobs of ``kinds``, up to ``rooms[i]`` of ``lanes[i]``, lanes in the order given.

    A job of one of ``groups`` brings more of its kind, up to ``most`` jobs in all.

    Inside a lane: priority (strict), turns over tenants from ``lane.turns`` on, then age. Remembers
    the tenants served last in the lane. What is paused, and suspects, are passed over.
    """
    started = monotonic()
    full = {lane.queue for lane in lanes if started >= lane.full_look_at}
    asked = [
        {
            "queue": lane.queue,
            "room": room,
            "turns": lane.turns,
            "floors": {} if lane.queue in full else lane.floors,
        }
        for lane, room in zip(lanes, rooms, strict=True)
    ]
    with connection(using).cursor() as cursor:
        cursor.execute(
            sql("claim"),
            [
                worker,
                json.dumps(asked),
                total,
                json.dumps(list(kinds)),
                msgspec.json.encode(groups).decode(),
                most,
            ],
        )
        rows = cursor.fetchall()
    took = monotonic() - started
    answers = {queue: (turn, floors) for queue, turn, floors, _ in rows}
    for lane in lanes:
        if lane.queue in full:
            lane.full_look_at = started + min(took * FULL_LOOK_SHARE, FULL_LOOK_WITHIN)
        if lane.queue in answers:
            _remember(lane, *answers[lane.queue], full=lane.queue in full)
    return _told([each for *_, jobs in rows for each in read_claimed(jobs)])


def claim_suspect(
    worker: UUID, queues: Sequence[str], kinds: Sequence[str], *, using: str
) -> Claimed | None:
    """Claim the one suspect that is due longest, for a worker that runs nothing else. None when there is none."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            sql("claim_suspect"), {"worker": worker, "queues": list(queues), "kinds": list(kinds)}
        )
        rows = cursor.fetchall()
    found = _told([each for (jobs,) in rows for each in read_claimed(jobs)])
    return found[0] if found else None


def _remember(lane: Lane, turns: str, floors: str, *, full: bool) -> None:
    lane.turns = json.loads(turns)
    lane.floors = json.loads(floors) if full else lane.floors | json.loads(floors)


def _told(found: list[Claimed]) -> list[Claimed]:
    if found:
        pickups = [
            Pickup(
                each.kind,
                each.queue,
                each.tenant,
                max(0.0, (each.claimed_at - each.run_at).total_seconds()),
            )
            for each in found
        ]
        jobs_claimed.send_robust(sender=None, pickups=pickups)
    return found
