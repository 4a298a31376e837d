"""Redrive dead letters in bulk: batched, re-checked under lock, an answer per row."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from uuid import UUID

from django.db import IntegrityError, transaction

from hubqueue.errors import MoveRefused
from hubqueue.lifecycle import operate, ring
from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.failure import brief
from hubqueue.lifecycle.sql import sql
from hubqueue.lifecycle.work import Reopen
from hubqueue.models import Job
from hubqueue.states import Move, State

FindReopen = Callable[[str], Reopen | None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one row: its state afterwards, or None with the code and words of the refusal."""

    job_id: UUID
    state: State | None
    code: str = ""
    message: str = ""


def redrive_many(
    job_ids: Iterable[UUID],
    *,
    actor: str,
    reason: str,
    using: str,
    reopen_of: FindReopen = lambda kind: None,
    batch: int = 500,
) -> Iterator[Answer]:
    """Redrive in the order given, ``batch`` rows per transaction; within a batch the newest of a key first.

    Jobs whose kind has a redrive hook are redriven one by one, each in a transaction of its own.
    """
    waiting = iter(job_ids)
    while chunk := list(islice(waiting, batch)):
        jobs = Job.objects.using(using).filter(pk__in=chunk)
        kinds = dict(jobs.values_list("pk", "kind"))
        hooks = {kind: reopen_of(kind) for kind in set(kinds.values())}
        for reopen, some in groupby(chunk, lambda job_id: hooks.get(kinds.get(job_id, ""))):  # noqa: B023
            move = partial(_one, actor=actor, reason=reason, using=using, reopen=reopen)
            if reopen is not None:
                yield from map(move, some)
                continue
            together = list(some)
            try:
                yield from _batch(together, actor=actor, reason=reason, using=using)
            except IntegrityError:
                # Somebody enqueued one of the keys while we held the batch: the rest must not suffer for it.
                yield from map(move, together)


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


def _one(job_id: UUID, *, actor: str, reason: str, using: str, reopen: Reopen | None) -> Answer:
    try:
        state = operate.redrive(job_id, actor=actor, reason=reason, using=using, reopen=reopen)
        return Answer(job_id, state)
    except MoveRefused as refused:
        return Answer(job_id, None, refused.code, str(refused))
