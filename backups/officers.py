"""The officers' verbs on runs. Each takes who and why, and leaves a log entry."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from backups import closing, operations, services, tenants, verification
from backups.errors import ArchiveKept, ArchiveMissing, RunEnded, TargetDisabled
from backups.models import BackupRun, BackupTarget, Content
from backups.sweep_handler import sweep_target
from backups.whole import begin_deleting, held_by_restores, whole_archives
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
    """Start a run, or answer the equal one that is running. Raises ``TenantUnknown``, and as ``request_run`` does."""
    tenants.refuse_unknown(tenant)
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
    if not operations.stop_job(found.job_id, actor=actor, reason=reason):
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


@transaction.atomic
def remove(run: BackupRun, *, actor: str, reason: str) -> None:
    """Delete an archive that was found not sound, by a job; to all others it is none from now on.

    No plan does that: such an archive counts for nothing, and may be all that is left. Raises ``ArchiveMissing``,
    ``TargetDisabled``, and ``ArchiveKept`` for one that is not known to be unsound, is pinned, is read by a restore, or
    that another one goes on from.
    """
    begin_deleting(run.target_id)
    found = whole_archives().filter(pk=run.pk).select_related("target").first()
    if found is None:
        raise ArchiveMissing("This run has no archive that could be deleted.")
    if not found.target.enabled:
        raise TargetDisabled(f"The target {found.target.name} is not enabled: nothing is deleted.")
    if why := _kept(found):
        raise ArchiveKept(f"The archive {found} stays: {why}.")
    BackupRun.objects.filter(pk=found.pk).update(expiring_at=Now())
    sweep_target.using(dedupe_key=str(found.target_id)).enqueue(target_id=found.target_id)
    _log("remove", found, actor, reason)


def _kept(run: BackupRun) -> str:
    if not run.findings:
        return "its last verification, if there was one, found nothing wrong"
    if BackupRun.objects.filter(pk=run.pk, pinned_until__gt=Now()).exists():
        return "it is pinned, unpin it first"
    if run.pk in held_by_restores(run.target_id):
        return "a restore reads it, wait for its end or cancel it"
    building = Q(pk__in=whole_archives().values("pk")) | Q(state=BackupRun.State.RUNNING)
    if run.children.filter(building).exists():
        return "an incremental one goes on from it, and goes first"
    return ""


def _pinned(run: BackupRun, until: datetime | None) -> None:
    """Under the lock under which expiry marks what goes: a pin is there before the mark, or is refused."""
    begin_deleting(run.target_id)
    if not whole_archives().filter(pk=run.pk).update(pinned_until=until):
        raise ArchiveMissing("This run has no archive that could be pinned.")


def _log(verb: str, run: BackupRun, actor: str, reason: str) -> None:
    operations.log(verb, f"backup run {run}", run.job_id, actor=actor, reason=reason)
