"""What is there is copied before it is replaced: an archive at the same target, of a moment after the request."""

from backups.errors import BackupError, SafetyFailed, TargetBusy
from backups.models import BackupRestore, BackupRun
from backups.restoring.work import write
from backups.services import request_run
from hubqueue.api import JobContext

State, Trigger = BackupRun.State, BackupRun.Trigger


class SafetyRunning(BackupError):
    """The copy of what is there is being made."""

    code = "backups.safety_running"
    passing = True


def make_copy(job: JobContext, restore: BackupRestore) -> None:
    """Ask for the copy, and return when it is complete and was read back.

    Its id is on the restore's row in the transaction that asks for it. Raises ``SafetyRunning`` and ``TargetBusy``:
    come again; ``SafetyFailed``, ``TargetDisabled``: nothing was changed.
    """
    safety = restore.safety
    if safety is None:
        _ask(job, restore)
        raise SafetyRunning(f"A copy of the rows of {restore.tenant} is being made.")
    if safety.state == State.RUNNING:
        raise SafetyRunning(f"A copy of the rows of {restore.tenant} is being made.")
    if safety.state != State.SUCCEEDED or safety.expiring_at is not None:
        raise SafetyFailed(
            f"The copy of the rows of {restore.tenant} was not made ({safety.code or safety.state})."
            " Nothing was replaced."
        )
    assert safety.snapshot_at is not None  # it has succeeded
    if safety.snapshot_at <= restore.requested_at:
        with job.transaction():
            write(restore, safety=None)
        make_copy(job, restore)


def _ask(job: JobContext, restore: BackupRestore) -> None:
    with job.transaction():
        asked = request_run(
            restore.run.target,
            trigger=Trigger.PRE_RESTORE,
            tenant=restore.tenant,
            asked_by=f"restore {restore.pk}",
        )
        if asked.trigger not in {Trigger.PRE_RESTORE, Trigger.MANUAL}:
            # A plan may delete what code asked for as soon as the restore has ended.
            raise TargetBusy(f"A run of the tenant is running at {restore.run.target.name}.")
        write(restore, safety=asked)
