"""The one writer of schedules: what is saved owes its next moment, and its tenant's job knows."""

from django.db import router, transaction

from backups.errors import RuleRefused
from backups.models import BackupSchedule, BackupTarget
from backups.running.make import refuse_unknown
from backups.schedules.handler import seed
from backups.schedules.occurrences import next_moment
from backups.schedules.rule import check
from hubqueue.querysets import database_now

# What decides when it fires. While these stay, a moment that is owed stays owed.
TIMING = ("rule", "zone", "enabled", "target_id", "tenant")


@transaction.atomic
def keep(schedule: BackupSchedule) -> BackupSchedule:
    """Save a schedule, new or changed, and what it owes, and seed the pass, in one transaction.

    What passed while it was disabled is not owed. Raises ``RuleRefused`` for a rule, full rule or zone that cannot
    be used, ``ContentUnknown`` for a content that this version does not write.
    """
    refuse_unknown(schedule.content)
    now = database_now(router.db_for_write(BackupSchedule))
    before = BackupSchedule.objects.select_for_update().filter(pk=schedule.pk).first()
    schedule.created_at = now if before is None else before.created_at
    for rule in filter(None, (schedule.rule, schedule.full_rule)):
        check(rule, schedule.zone, schedule.created_at)
    same = before is not None and all(
        getattr(before, name) == getattr(schedule, name) for name in TIMING
    )
    if before is not None and same and before.next_run_at is not None:
        schedule.next_run_at = before.next_run_at
    else:
        schedule.next_run_at = next_moment(schedule, now) if schedule.enabled else None
    schedule.unreadable = False
    schedule.held = schedule.held and not schedule.enabled
    schedule.save(force_insert=before is None, force_update=before is not None)
    seed(schedule)
    return schedule


@transaction.atomic
def target_enabled(target: BackupTarget) -> None:
    """What a target's schedules owe once it takes archives again: from now on. Part of whoever enables it."""
    now = database_now(router.db_for_write(BackupSchedule))
    rows = BackupSchedule.objects.select_for_update().filter(target=target, enabled=True)
    for schedule in rows.order_by("id"):
        try:
            schedule.next_run_at, schedule.unreadable = next_moment(schedule, now), False
        except RuleRefused:
            schedule.next_run_at, schedule.unreadable = None, True
        schedule.save(update_fields=["next_run_at", "unreadable"])
        seed(schedule)
