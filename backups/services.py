"""What code asks of backups."""

from django.db import router, transaction

from backups.errors import ContentUnknown, TargetBusy, TargetDisabled
from backups.models import BackupRun, BackupSchedule, BackupTarget, Content
from backups.run_handler import run_backup
from backups.running.make import refuse_unknown
from backups.scopes import name_of
from backups.whole import hold_archives, newest_sound

OFTEN = 5  # a run that stood in the way may have ended before it was looked at


def request_run(
    target: BackupTarget,
    *,
    trigger: str,
    content: str = Content.ROWS,
    tenant: str | None = None,
    mode: str = BackupRun.Mode.FULL,
    schedule: BackupSchedule | None = None,
    asked_by: str = "",
) -> BackupRun:
    """Start a run, in the caller's transaction; the running one when it is of the same.

    ``tenant`` None = the whole installation. ``mode`` incremental goes on from the newest sound archive of the same at
    the target; without one, and of a tenant or of the system, the run is full, and its ``promoted`` says why.
    Raises ``TargetDisabled``, ``TargetBusy`` when a run of something else is running there, ``ContentUnknown``.
    """
    refuse_unknown(content)
    if tenant == "":
        raise ContentUnknown("expected a tenant's name, or None for all rows, got an empty name")
    wanted = BackupRun(
        target=target,
        schedule=schedule,
        tenant=tenant,
        content=content,
        trigger=trigger,
        asked_by=asked_by[:150],
    )
    with transaction.atomic(using=router.db_for_write(BackupRun)):
        hold_archives(target.pk)
        _refuse_disabled(target)
        if mode == BackupRun.Mode.INCREMENTAL:
            _go_on_from_the_newest(wanted)
        for _ in range(OFTEN):
            if run := _inserted(wanted):
                return _enqueued(run)
            if standing := _standing(target):
                return _same(standing, wanted)
    raise TargetBusy(f"At {target.name} runs start and end all the time. Try again.")


def _go_on_from_the_newest(wanted: BackupRun) -> None:
    """Whose row belongs to a tenant may change without a change of the row, and a dump is of the whole database."""
    if wanted.tenant is not None or wanted.content != Content.ROWS:
        wanted.promoted = "backups.never_incremental"
        return
    wanted.parent = newest_sound(wanted.target_id, content=wanted.content, tenant=wanted.tenant)
    if wanted.parent is None:
        wanted.promoted = "backups.nothing_to_continue"
    else:
        wanted.mode = BackupRun.Mode.INCREMENTAL


def _refuse_disabled(target: BackupTarget) -> None:
    if not BackupTarget.objects.filter(pk=target.pk, enabled=True).exists():
        raise TargetDisabled(f"The target {target.name} is not enabled: nothing is sent to it.")


def _inserted(wanted: BackupRun) -> BackupRun | None:
    """The index decides: it waits for a request that is being committed. None = there is a running one."""
    BackupRun.objects.bulk_create([wanted], ignore_conflicts=True)
    return BackupRun.objects.filter(pk=wanted.pk).first()


def _enqueued(run: BackupRun) -> BackupRun:
    run.archive = str(name_of(run.content, run.tenant, run.started_at, run.mode))
    # A tenant whose restore was broken off is paused; the copy before the next one must be made all the same.
    tenant = None if run.trigger == BackupRun.Trigger.PRE_RESTORE else run.tenant
    made = run_backup.using(dedupe_key=str(run.pk), tenant=tenant).enqueue(run_id=run.pk)
    run.job_id = made.id
    run.save(update_fields=["archive", "job_id"])
    return run


def _standing(target: BackupTarget) -> BackupRun | None:
    return BackupRun.objects.filter(target=target, state=BackupRun.State.RUNNING).first()


def _same(standing: BackupRun, wanted: BackupRun) -> BackupRun:
    for name in ("tenant", "content", "asked_mode", "schedule_id"):
        if getattr(standing, name) != getattr(wanted, name):
            raise TargetBusy(
                f"A run of something else is running at {wanted.target.name}, {standing.archive}:"
                " wait until it has ended, or cancel it."
            )
    return standing
