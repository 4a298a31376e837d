"""The job of a run."""

from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import DatabaseError

from backups import closing
from backups.abandoned import death_of
from backups.errors import BackupError
from backups.models import BackupRun
from backups.running.make import discard, make
from hubqueue.api import (
    Backoff,
    Dead,
    Done,
    JobContext,
    LeaseLost,
    MoveRefused,
    Result,
    Retry,
    StopRequested,
    handler,
)
from hubqueue.lifecycle.failure import broken_by
from hubqueue.states import Stop


@handler(
    "backups.run",
    detached=True,
    queue="backups",
    timeout=timedelta(hours=24),
    max_attempts=8,
    backoff=Backoff(base=timedelta(seconds=30), cap=timedelta(minutes=30)),
)
def run_backup(job: JobContext, *, run_id: UUID) -> Result:
    """Make the archive of a run. At least once: a later attempt writes it anew, in the same directory.

    A failure that may pass leaves the run RUNNING with its code. Does nothing for a run that has ended.
    """
    run = _running(run_id)
    if run is None:
        return Done()
    try:
        manifest = make(job, run)
    except LeaseLost:
        raise
    except StopRequested:
        if job.watch.stop == Stop.CANCEL and not job.watch.lost:
            discard(job, run)
        raise
    except BackupError as met:
        return _failed(job, run, met)
    except Exception as raised:
        with suppress(DatabaseError):  # the database may be what failed
            _keep(job, run, broken_by(raised).code)
        raise
    return Done(record=partial(closing.succeed, run.pk, manifest))


@run_backup.on_abandon
def give_up(job: JobContext) -> None:
    """End the run with its job: CANCELLED, or FAILED with the code of the dead letter."""
    run_id = UUID(job.claimed.payload["run_id"])
    code = death_of(job)
    if code is None:
        closing.cancel(run_id)
    else:
        closing.fail(run_id, code)


@run_backup.on_redrive
def take_up(job: JobContext) -> None:
    """A run that has ended stays so: its snapshot is gone."""
    if _running(UUID(job.claimed.payload["run_id"])) is None:
        raise MoveRefused(
            "run_ended",
            "its run has ended: start another with Back up now, on the page of the target.",
        )


def _running(run_id: UUID) -> BackupRun | None:
    running = BackupRun.objects.filter(state=BackupRun.State.RUNNING)
    return running.select_related("target").filter(pk=run_id).first()


def _failed(job: JobContext, run: BackupRun, met: BackupError) -> Result:
    _keep(job, run, met.code)
    if met.passing:
        return Retry(code=met.code)
    discard(job, run)
    return Dead(code=met.code)


def _keep(job: JobContext, run: BackupRun, code: str) -> None:
    with job.transaction():
        BackupRun.objects.filter(pk=run.pk).update(code=code[:60])
