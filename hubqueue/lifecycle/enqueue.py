"""Enqueue: one statement in the caller's transaction, for one request or many."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction

from hubqueue.errors import PayloadRefused
from hubqueue.ids import uuid7s
from hubqueue.lifecycle import ring
from hubqueue.lifecycle.database import alias, connection
from hubqueue.payload import Json, check_storable, dump
from hubqueue.signals import job_enqueued
from hubqueue.states import State

META_LIMIT = 4096


class Outcome(StrEnum):
    """What became of a request: see the dedupe table in docs/life-of-a-job.md."""

    NEW = "new"
    COLLAPSED = "collapsed"
    RERUN = "rerun"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The job that serves a request: a new one, or the unfinished one with the same dedupe key.

    ``same_payload`` is False when that job stands with another payload, which it keeps.
    """

    id: UUID
    outcome: Outcome
    same_payload: bool


class Request(msgspec.Struct, frozen=True):
    """A validated request. ``payload`` is JSON text; ``run_at`` None means now, on the database's clock."""

    kind: str
    queue: str
    payload: str
    max_attempts: int
    priority: int = 0
    tenant: str | None = None
    dedupe_key: str | None = None
    run_at: datetime | None = None
    meta: dict[str, Any] = {}

    def __post_init__(self) -> None:
        _check_text(self.tenant, "tenant", 64)
        _check_text(self.dedupe_key, "dedupe_key", 200)
        _check_moment(self.run_at)
        if type(self.priority) is not int or not -(2**15) <= self.priority < 2**15:
            raise PayloadRefused("priority", "expected a whole number of 16 bits")
        if not isinstance(self.meta, dict):
            raise PayloadRefused("meta", f"expected an object, got {type(self.meta).__name__}")
        check_storable(self.meta, "meta")


def enqueue(request: Request) -> Enqueued:
    """Enqueue one request in the caller's transaction."""
    return enqueue_many([request])[0]


def enqueue_many(requests: Sequence[Request]) -> list[Enqueued]:
    """Enqueue all requests in one round trip; an answer per request, in their order.

    Requests of one kind and key are collapsed before the statement (the first payload stands, the earliest
    moment and the most urgent priority count), and rows are sorted by kind and key, so that two such calls
    cannot deadlock.
    """
    if not requests:
        return []
    using = alias()
    slots, seats = _collapse(requests)
    here = connection(using)
    alone = not here.in_atomic_block
    bells = ring.may_ring({each.request.queue for each in slots}, alone=alone, using=using)
    with here.cursor() as cursor:
        cursor.execute(
            "SELECT due, rung, standing FROM hubqueue_enqueue(%s, %s, %s)",
            [_json(map(_row, _in_lock_order(slots))), _json(bells), alone],
        )
        due, rung, standing = cursor.fetchone()
    ring.rang(rung, using=using)
    if unrung := set(due or ()).difference(rung, bells if alone else ()):
        ring.ring_after_commit(unrung, using=using)
    stands = {each.asked: each for each in _read_standing(standing or "[]")}
    answers = [
        _answer(request, slot, stands.get(slot.id), first=slot.first == index)
        for index, (request, slot) in enumerate(zip(requests, seats, strict=True))
    ]
    told = Counter(
        (each.kind, each.queue, answer.outcome)
        for each, answer in zip(requests, answers, strict=True)
    )
    transaction.on_commit(partial(_tell, told), using=using, robust=True)
    return answers


@dataclass(slots=True)
class _Slot:
    """One row to put: the requests of one kind and key, merged. ``first`` is the index of the first of them."""

    id: UUID
    request: Request
    first: int


class _Row(msgspec.Struct, omit_defaults=True):
    """What ``hubqueue_enqueue`` reads. A moment is in UTC, because JSON writes an offset in whole minutes."""

    id: UUID
    kind: str
    queue: str
    payload: msgspec.Raw
    max_attempts: int
    priority: int = 0
    tenant: str | None = None
    dedupe_key: str | None = None
    run_at: datetime | None = None
    meta: msgspec.Raw | None = None


class _Stands(msgspec.Struct, array_like=True):
    """A row that was there before, and serves the row ``asked`` for. ``payload`` is None where it is the same."""

    asked: UUID
    id: UUID
    state: State
    payload: Json


_read_standing = msgspec.json.Decoder(list[_Stands]).decode


def _collapse(requests: Sequence[Request]) -> tuple[list[_Slot], list[_Slot]]:
    """The rows to put, and for every request the row that serves it."""
    slots: list[_Slot] = []
    seats: list[_Slot] = []
    keyed: dict[tuple[str, str], _Slot] = {}
    for index, (new_id, request) in enumerate(zip(uuid7s(len(requests)), requests, strict=True)):
        key = (request.kind, request.dedupe_key) if request.dedupe_key else None
        slot = keyed.get(key) if key else None
        if slot is None:
            slot = _Slot(new_id, request, index)
            slots.append(slot)
            if key:
                keyed[key] = slot
        else:
            slot.request = _merge(slot.request, request)
        seats.append(slot)
    return slots, seats


def _merge(first: Request, second: Request) -> Request:
    now_wins = first.run_at is None or second.run_at is None
    return msgspec.structs.replace(
        first,
        priority=min(first.priority, second.priority),
        run_at=None if now_wins else min(first.run_at, second.run_at),  # type: ignore[type-var]
    )


def _in_lock_order(slots: Sequence[_Slot]) -> list[_Slot]:
    """By kind and key. Rows without a key are new, nobody else's lock is met there."""
    return sorted(slots, key=lambda slot: (slot.request.kind, slot.request.dedupe_key or ""))


def _json(rows: Iterable[Any]) -> str:
    return msgspec.json.encode(list(rows)).decode()


def _row(slot: _Slot) -> _Row:
    request = slot.request
    return _Row(
        slot.id,
        request.kind,
        request.queue,
        msgspec.Raw(request.payload),
        request.max_attempts,
        request.priority,
        request.tenant,
        request.dedupe_key,
        request.run_at and request.run_at.astimezone(UTC),
        msgspec.Raw(dump(request.meta, "meta", limit=META_LIMIT)) if request.meta else None,
    )


def _answer(request: Request, slot: _Slot, stands: _Stands | None, *, first: bool) -> Enqueued:
    same_payload = request.payload == slot.request.payload
    if stands is None:
        return Enqueued(slot.id, Outcome.NEW if first else Outcome.COLLAPSED, same_payload)
    if stands.payload is not None:
        same_payload = msgspec.json.decode(request.payload) == stands.payload
    return Enqueued(stands.id, _STANDING[stands.state], same_payload)


_STANDING = {
    State.READY: Outcome.COLLAPSED,
    State.RUNNING: Outcome.RERUN,
    State.PARKED: Outcome.PARKED,
}


def _tell(told: Mapping[tuple[str, str, Outcome], int]) -> None:
    for (kind, queue, outcome), count in told.items():
        job_enqueued.send_robust(sender=None, kind=kind, queue=queue, outcome=outcome, count=count)


def _check_text(text: object, argument: str, longest: int) -> None:
    if text is None:
        return
    if not isinstance(text, str) or not 0 < len(text) <= longest:
        raise PayloadRefused(argument, f"expected 1 to {longest} characters")
    check_storable(text, argument)


def _check_moment(moment: object) -> None:
    if moment is None:
        return
    if not isinstance(moment, datetime):
        raise PayloadRefused("run_at", f"expected a datetime, got {type(moment).__name__}")
    if moment.utcoffset() is None:
        raise PayloadRefused("run_at", "a naive datetime; make it aware")
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise PayloadRefused("run_at", "expected a year of 1 to 9999 in UTC") from None
