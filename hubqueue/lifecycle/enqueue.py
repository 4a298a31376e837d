"""Enqueue: one statement in the caller's transaction, for one request or many."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from hubqueue.errors import PayloadRefused
from hubqueue.ids import uuid7
from hubqueue.lifecycle import ring
from hubqueue.lifecycle.database import alias, connection
from hubqueue.lifecycle.sql import sql
from hubqueue.payload import check_storable, dump
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


@dataclass(frozen=True, slots=True)
class Request:
    """A validated request. ``payload`` is JSON text; ``run_at`` None means now, on the database's clock."""

    kind: str
    queue: str
    payload: str
    max_attempts: int
    priority: int = 0
    tenant: str | None = None
    dedupe_key: str | None = None
    run_at: datetime | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_text(self.tenant, "tenant", 64)
        _check_text(self.dedupe_key, "dedupe_key", 200)
        if self.run_at is not None:
            if not isinstance(self.run_at, datetime):
                raise PayloadRefused(
                    "run_at", f"expected a datetime, got {type(self.run_at).__name__}"
                )
            if self.run_at.tzinfo is None:
                raise PayloadRefused("run_at", "a naive datetime; make it aware")
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
    in_lock_order = sorted(slots, key=_lock_order)
    queues = {each.request.queue for each in slots}
    ringing = ring.quiet(queues, using=using)
    with connection(using).cursor() as cursor:
        cursor.execute(sql("enqueue"), {**_columns(in_lock_order), "ring": ringing})
        rows = cursor.fetchall()
    stored = {given: _Stored(*answer) for given, *answer, _ in rows}
    _see_to_bells(slots, stored, ringing, using)
    answers = [
        _answer(request, slot, stored[slot.id], first=slot.first == index)
        for index, (request, slot) in enumerate(zip(requests, seats, strict=True))
    ]
    told = [
        (each.kind, each.queue, answer.outcome)
        for each, answer in zip(requests, answers, strict=True)
    ]
    transaction.on_commit(partial(_tell, told), using=using, robust=True)
    return answers


@dataclass(slots=True)
class _Slot:
    """One row to put: the requests of one kind and key, merged. ``first`` is the index of the first of them."""

    request: Request
    first: int
    id: UUID = field(default_factory=uuid7)


@dataclass(frozen=True, slots=True)
class _Stored:
    id: UUID
    state: str
    same_payload: bool
    due: bool


def _collapse(requests: Sequence[Request]) -> tuple[list[_Slot], list[_Slot]]:
    """The rows to put, and for every request the row that serves it."""
    slots: list[_Slot] = []
    seats: list[_Slot] = []
    keyed: dict[tuple[str, str], _Slot] = {}
    for index, request in enumerate(requests):
        slot = keyed.get((request.kind, request.dedupe_key)) if request.dedupe_key else None
        if slot is None:
            slot = _Slot(request, index)
            slots.append(slot)
            if request.dedupe_key:
                keyed[(request.kind, request.dedupe_key)] = slot
        else:
            slot.request = _merge(slot.request, request)
        seats.append(slot)
    return slots, seats


def _merge(first: Request, second: Request) -> Request:
    now_wins = first.run_at is None or second.run_at is None
    return replace(
        first,
        priority=min(first.priority, second.priority),
        run_at=None if now_wins else min(first.run_at, second.run_at),  # type: ignore[type-var]
    )


def _lock_order(slot: _Slot) -> tuple[str, str, UUID]:
    return slot.request.kind, slot.request.dedupe_key or "", slot.id


def _columns(slots: Sequence[_Slot]) -> dict[str, list[Any]]:
    requests = [slot.request for slot in slots]
    return {
        "ids": [slot.id for slot in slots],
        "kinds": [each.kind for each in requests],
        "queues": [each.queue for each in requests],
        "priorities": [each.priority for each in requests],
        "tenants": [each.tenant for each in requests],
        "payloads": [each.payload for each in requests],
        "keys": [each.dedupe_key for each in requests],
        "moments": [each.run_at for each in requests],
        "max_attempts": [each.max_attempts for each in requests],
        "metas": [dump(each.meta, "meta", limit=META_LIMIT) for each in requests],
    }


def _see_to_bells(
    slots: Sequence[_Slot], stored: dict[UUID, _Stored], ringing: list[str], using: str
) -> None:
    due = {slot.request.queue for slot in slots if stored[slot.id].due}
    if rung := due.intersection(ringing):
        ring.rang(rung, using=using)
    if unrung := due.difference(ringing):
        ring.ring_after_commit(unrung, using=using)


def _answer(request: Request, slot: _Slot, stored: _Stored, *, first: bool) -> Enqueued:
    same_payload = stored.same_payload and request.payload == slot.request.payload
    if stored.id == slot.id:
        return Enqueued(stored.id, Outcome.NEW if first else Outcome.COLLAPSED, same_payload)
    return Enqueued(stored.id, _STANDING[State(stored.state)], same_payload)


_STANDING = {
    State.READY: Outcome.COLLAPSED,
    State.RUNNING: Outcome.RERUN,
    State.PARKED: Outcome.PARKED,
}


def _tell(told: Sequence[tuple[str, str, Outcome]]) -> None:
    for kind, queue, outcome in told:
        job_enqueued.send_robust(sender=None, kind=kind, queue=queue, outcome=outcome)


def _check_text(text: object, argument: str, longest: int) -> None:
    if text is None:
        return
    if not isinstance(text, str) or not 0 < len(text) <= longest:
        raise PayloadRefused(argument, f"expected 1 to {longest} characters")
    check_storable(text, argument)
