"""The job of a restore."""

from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.db import DatabaseError

from backups.abandoned import death_of
from backups.errors import BackupError, TargetBusy
from backups.models import BackupRestore
from backups.restoring import closing
from backups.restoring.perform import perform
from backups.restoring.safety import SafetyRunning
from backups.restoring.standstill import StillRunning
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

WAITS = (SafetyRunning, StillRunning, TargetBusy)
AGAIN = timedelta(seconds=5)


@handler(
    "backups.restore",
    detached=True,
    queue="backups",
    timeout=timedelta(hours=24),
    max_attempts=8,
    backoff=Backoff(base=timedelta(seconds=30), cap=timedelta(minutes=30)),
)
def restore_rows(job: JobContext, *, restore_id: UUID) -> Result:
    """Restore what a row asks for. At least once: each batch commits with its progress, a later attempt goes on there.

    A failure that may pass leaves the restore RUNNING with its code. Does nothing for one that has ended.
    """
    restore = _running(restore_id)
    if restore is None:
        return Done()
    try:
        return perform(job, restore)
    except (LeaseLost, StopRequested):
        raise
    except WAITS as waits:
        _keep(job, restore, waits.code)
        return Retry(after=AGAIN, code=waits.code, spend=False)
    except BackupError as met:
        _keep(job, restore, met.code)
        return Retry(code=met.code) if met.passing else Dead(code=met.code)
    except Exception as raised:
        with suppress(DatabaseError):  # the database may be what failed
            _keep(job, restore, broken_by(raised).code)
        raise


@restore_rows.on_abandon
def give_up(job: JobContext) -> None:
    """End the restore with its job: CANCELLED, or FAILED with the code of the dead letter."""
    restore_id = UUID(job.claimed.payload["restore_id"])
    code = death_of(job)
    if code is None:
        closing.cancel(restore_id)
    else:
        closing.fail(restore_id, code)


@restore_rows.on_redrive
def take_up(job: JobContext) -> None:
    """A restore that has ended stays so: another one looks at the archive and at what is here once more."""
    if _running(UUID(job.claimed.payload["restore_id"])) is None:
        raise MoveRefused(
            "restore_ended",
            "its restore has ended: ask for another on the page of the run whose archive it is.",
        )


def _running(restore_id: UUID) -> BackupRestore | None:
    running = BackupRestore.objects.filter(state=BackupRestore.State.RUNNING)
    return running.select_related("run__target", "safety").filter(pk=restore_id).first()


def _keep(job: JobContext, restore: BackupRestore, code: str) -> None:
    with job.transaction():
        BackupRestore.objects.filter(pk=restore.pk).update(code=code[:60])
