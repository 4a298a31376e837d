"""Redrive dead letters in bulk: batched, re-checked under lock, an answer per row."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from django.db import IntegrityError, transaction

from hubqueue.errors import MoveRefused
from hubqueue.lifecycle import operate, ring
from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.failure import brief
from hubqueue.lifecycle.sql import sql
from hubqueue.states import Move, State


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one row: its state afterwards, or None with the code and words of the refusal."""

    job_id: UUID
    state: State | None
    code: str = ""
    message: str = ""


def redrive_many(
    job_ids: Iterable[UUID], *, actor: str, reason: str, using: str, batch: int = 500
) -> Iterator[Answer]:
    """Redrive in the order given, ``batch`` rows per transaction; within a batch the newest of a key first."""
    waiting = iter(job_ids)
    while chunk := list(islice(waiting, batch)):
        try:
            yield from _batch(chunk, actor=actor, reason=reason, using=using)
        except IntegrityError:
            # Somebody enqueued one of the keys while we held the batch: the rest must not suffer for it.
            for job_id in chunk:
                yield _one(job_id, actor=actor, reason=reason, using=using)


def _batch(chunk: Sequence[UUID], *, actor: str, reason: str, using: str) -> list[Answer]:
    with transaction.atomic(using=using):
        with connection(using).cursor() as cursor:
            cursor.execute(sql("redrive_lock"), {"ids": list(chunk)})
            cursor.execute(
                sql("redrive_batch"),
                {
                    "ids": list(chunk),
                    "actor": brief(actor, 150),
                    "reason": brief(reason, 200),
                    "verb": Move.REDRIVE,
                },
            )
            rows = cursor.fetchall()
        found = {row[0]: _answer(*row[:4]) for row in rows}
        ring.ring_after_commit({row[4] for row in rows if row[1]}, using=using)
    return [
        found.get(job_id) or Answer(job_id, None, "unknown_job", "there is no such job")
        for job_id in chunk
    ]


def _answer(job_id: UUID, moved: bool, state: str, standing: UUID | None) -> Answer:
    if moved:
        return Answer(job_id, State.READY)
    if standing is not None:
        return Answer(job_id, None, "superseded", f"superseded by {standing}")
    return Answer(job_id, None, "wrong_state", f"cannot {Move.REDRIVE} a job that is {state}")


def _one(job_id: UUID, *, actor: str, reason: str, using: str) -> Answer:
    try:
        return Answer(job_id, operate.redrive(job_id, actor=actor, reason=reason, using=using))
    except MoveRefused as refused:
        return Answer(job_id, None, refused.code, str(refused))
