"""The officers' verbs on runs. Each takes who and why, and leaves a log entry."""

from datetime import datetime

from django.db import transaction

from backups import closing, services, verification
from backups.errors import ArchiveMissing, RunEnded
from backups.models import BackupRun, BackupTarget, Content
from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.lifecycle.failure import brief
from hubqueue.models import Operation
from hubqueue.querysets import Now


@transaction.atomic
def start(
    target: BackupTarget,
    *,
    actor: str,
    reason: str,
    content: str = Content.ROWS,
    tenant: str | None = None,
    mode: str = BackupRun.Mode.FULL,
) -> BackupRun:
    """Start a run, or answer the equal one that is running. Raises as ``request_run`` does."""
    run = services.request_run(
        target,
        trigger=BackupRun.Trigger.MANUAL,
        content=content,
        tenant=tenant,
        mode=mode,
        asked_by=actor,
    )
    _log("start", run, actor, reason)
    return run


@transaction.atomic
def cancel(run: BackupRun, *, actor: str, reason: str) -> None:
    """Stop a run: at once when it waits, at its next block when it writes. Raises ``RunEnded``.

    What it wrote is deleted at the target by the attempt that is stopped; of one that waits, it is left unfinished.
    A run whose job is gone is closed here.
    """
    found = BackupRun.objects.filter(pk=run.pk, state=BackupRun.State.RUNNING).first()
    if found is None:
        raise RunEnded(f"The run {run} has ended already; there is nothing to cancel.")
    if not _stopped(found, actor, reason):
        closing.cancel(found.pk)
    _log("cancel", found, actor, reason)


@transaction.atomic
def verify(run: BackupRun, *, actor: str, reason: str) -> None:
    """Queue a verification of the archive. Raises ``ArchiveMissing``."""
    verification.request_verification(run, asked_by=actor)
    _log("verify", run, actor, reason)


@transaction.atomic
def pin(run: BackupRun, *, until: datetime, actor: str, reason: str) -> None:
    """No plan deletes the archive before ``until``. Raises ``ArchiveMissing``."""
    _pinned(run, until)
    _log("pin", run, actor, reason)


@transaction.atomic
def unpin(run: BackupRun, *, actor: str, reason: str) -> None:
    """The plan of its schedule decides about the archive again. Raises ``ArchiveMissing``."""
    _pinned(run, None)
    _log("unpin", run, actor, reason)


def _pinned(run: BackupRun, until: datetime | None) -> None:
    """Under the lock under which expiry marks what goes: a pin is there before the mark, or is refused."""
    BackupTarget.objects.select_for_update().get(pk=run.target_id)
    whole = BackupRun.objects.filter(
        pk=run.pk, state=BackupRun.State.SUCCEEDED, expiring_at__isnull=True
    )
    if not whole.update(pinned_until=until):
        raise ArchiveMissing("This run has no archive that could be pinned.")


def _stopped(run: BackupRun, actor: str, reason: str) -> bool:
    """Whether its job was there to be stopped. Raises ``MoveRefused`` when it cannot be reached now."""
    if run.job_id is None:
        return False
    try:
        officers.cancel(run.job_id, actor=actor, reason=reason)
    except MoveRefused as refused:
        if refused.code not in {"unknown_job", "wrong_state"}:
            raise
        return False
    return True


def _log(verb: str, run: BackupRun, actor: str, reason: str) -> None:
    Operation.objects.create(
        verb=f"backups.{verb}",
        target=f"backup run {run}"[:200],
        job_id=run.job_id,
        actor=brief(actor, 150),
        reason=brief(reason, 200),
        at=Now(),
    )
