"""Officers' verbs on a job: each takes the row's lock, checks the table of moves, and leaves an entry."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import IntegrityError, OperationalError, connections, transaction

from hubqueue.errors import MoveRefused, Superseded
from hubqueue.lifecycle import ring
from hubqueue.lifecycle.failure import brief, broken_by
from hubqueue.lifecycle.guard import ROW_BUSY, claimed_from
from hubqueue.lifecycle.settle import Abandon, insert_successor, let_go
from hubqueue.lifecycle.work import Reopen
from hubqueue.models import Job, Operation
from hubqueue.querysets import Now, database_now
from hubqueue.signals import verb_done
from hubqueue.states import Move, State, Stop, allowed

PATIENCE = "5s"


def park(job_id: UUID, *, actor: str, reason: str, using: str) -> State:
    """READY: set aside until released. RUNNING: ask it to stop; whatever but Done follows, it ends PARKED."""
    with _locked(job_id, Move.PARK, actor, reason, using) as job:
        if job.state == State.RUNNING:
            return _write(job, stop_requested=Stop.PARK, park_reason=brief(reason, 200))
        return _write(job, state=State.PARKED, park_reason=brief(reason, 200))


def release(job_id: UUID, *, actor: str, reason: str, using: str) -> State:
    """PARKED: back to READY, at its own moment."""
    with _locked(job_id, Move.RELEASE, actor, reason, using) as job:
        ring.ring_after_commit([job.queue], using=using)
        return _write(job, state=State.READY, park_reason=None)


def run_now(job_id: UUID, *, actor: str, reason: str, using: str) -> State:
    """READY or PARKED: due now."""
    with _locked(job_id, Move.RUN_NOW, actor, reason, using) as job:
        ring.ring_after_commit([job.queue], using=using)
        return _write(job, state=State.READY, run_at=Now(), park_reason=None)


def cancel(job_id: UUID, *, actor: str, reason: str, using: str, abandon: Abandon | None) -> State:
    """READY or PARKED: never runs. RUNNING: ask it to stop; whatever but Done follows, it ends CANCELLED."""
    with _locked(job_id, Move.CANCEL, actor, reason, using) as job:
        if job.state == State.RUNNING:
            return _write(job, stop_requested=Stop.CANCEL, park_reason=None)
        moment = database_now(using)
        _write(job, state=State.CANCELLED, finished_at=moment, park_reason=None)
        let_go(claimed_from(job), abandon, moment=moment, using=using)
        if job.rerun_at is not None:
            insert_successor(job.id, using=using)
        return State.CANCELLED


def redrive(
    job_id: UUID, *, actor: str, reason: str, using: str, reopen: Reopen | None = None
) -> State:
    """DEAD: due now with fresh attempts. Refuses ``Superseded`` when an unfinished job has its key, and what its kind's
    hook refuses."""
    with _locked(job_id, Move.REDRIVE, actor, reason, using) as job:
        _refuse_superseded(job, using)
        if reopen is not None:
            _take_up_again(job, reopen, using)
        ring.ring_after_commit([job.queue], using=using)
        try:
            with transaction.atomic(using=using):
                return _write(
                    job,
                    state=State.READY,
                    run_at=Now(),
                    attempts=0,
                    failing_since=None,
                    finished_at=None,
                )
        except IntegrityError:
            _refuse_superseded(job, using)
            raise


def dismiss(job_id: UUID, *, actor: str, reason: str, using: str) -> State:
    """DEAD: looked at and let be. Its abandon hook ran when it died."""
    with _locked(job_id, Move.DISMISS, actor, reason, using) as job:
        return _write(job, state=State.CANCELLED, rerun_at=None)


@contextmanager
def _locked(job_id: UUID, move: Move, actor: str, reason: str, using: str) -> Iterator[Job]:
    """The job's row, locked and fit for ``move``; the entry is written and told when the block ends well."""
    with transaction.atomic(using=using):
        job = _lock(job_id, using)
        state = State(job.state)
        if not allowed(state, move):
            raise MoveRefused("wrong_state", f"cannot {move} a job that is {state}")
        yield job
        enter(move, str(job_id), job_id=job_id, actor=actor, reason=reason, using=using)


def enter(
    verb: str, target: str, *, actor: str, reason: str, using: str, job_id: UUID | None = None
) -> None:
    """Write the log entry of a verb, in its transaction, and tell it after the commit."""
    Operation.objects.using(using).create(
        verb=verb,
        target=target[:200],
        job_id=job_id,
        actor=brief(actor, 150),
        reason=brief(reason, 200),
        at=Now(),
    )
    tell: Callable[[], object] = lambda: verb_done.send_robust(  # noqa: E731
        sender=None, verb=str(verb), target=target, actor=actor
    )
    transaction.on_commit(tell, using=using, robust=True)


def _lock(job_id: UUID, using: str) -> Job:
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
    try:
        return Job.objects.using(using).select_for_update(no_key=True).get(pk=job_id)
    except Job.DoesNotExist:
        raise MoveRefused("unknown_job", f"there is no job {job_id}") from None
    except OperationalError as raised:
        if getattr(raised.__cause__, "sqlstate", None) in ROW_BUSY:
            raise MoveRefused(
                "row_busy", "the job's row is locked by an open transaction; try again"
            ) from raised
        raise


def _write(job: Job, **values: Any) -> State:
    """The guarded statement: the row is locked, and the state it was checked in is matched once more."""
    changed = Job.objects.using(job._state.db).filter(pk=job.pk, state=job.state).update(**values)
    if changed != 1:
        raise MoveRefused("wrong_state", "the job moved on meanwhile; look again")
    return State(values.get("state", job.state))


def _take_up_again(job: Job, reopen: Reopen, using: str) -> None:
    try:
        with transaction.atomic(using=using):
            reopen(claimed_from(job))
            # A hook that swallowed a failed statement would be rolled back without a word.
            transaction.get_connection(using).validate_no_broken_transaction()
    except MoveRefused:
        raise
    except Exception as raised:
        said = f"its kind could not take it up again ({broken_by(raised).exception})"
        raise MoveRefused("redrive_failed", said) from raised


def _refuse_superseded(job: Job, using: str) -> None:
    if job.dedupe_key is None:
        return
    standing = Job.objects.using(using).unfinished_with_key(job.kind, job.dedupe_key).first()
    if standing is not None:
        raise Superseded(standing.pk)
