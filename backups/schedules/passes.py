"""A pass: what is due is fired, and each schedule then owes its next moment."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import router, transaction

from backups.errors import ContentUnknown, RuleRefused, TargetBusy, TargetDisabled
from backups.models import BackupRun, BackupSchedule
from backups.schedules.occurrences import next_moment, owes_full
from backups.schedules.owed import of
from backups.services import request_run
from hubqueue.querysets import database_now

MOST = 50
BUSY = timedelta(minutes=5)


@dataclass(slots=True)
class Fired:
    """How many schedules of a pass: started (or already running), waiting for a busy target, unreadable,
    refused (a content that this version does not write)."""

    started: int = 0
    busy: int = 0
    unreadable: int = 0
    refused: int = 0


def run_pass(tenant: str | None) -> Fired:
    """Fire what this tenant's schedules owe now (None: those of no tenant), ``MOST`` of them at most, oldest first.

    However many moments of a schedule passed, it fires once. Part of the caller's transaction. Two passes at once
    fire nothing twice: what another one holds is passed over.
    """
    fired = Fired()
    using = router.db_for_write(BackupSchedule)
    with transaction.atomic(using=using):
        now = database_now(using)
        for schedule in _due(tenant, now):
            _fire(schedule, now, fired)
    return fired


def _due(tenant: str | None, now: datetime) -> list[BackupSchedule]:
    due = of(tenant).filter(next_run_at__lte=now).select_related("target")
    due = due.order_by("next_run_at", "id").select_for_update(skip_locked=True, of=("self",))
    return list(due[:MOST])


def _fire(schedule: BackupSchedule, now: datetime, fired: Fired) -> None:
    try:
        following = next_moment(schedule, now)
        mode = _mode(schedule, following)
    except RuleRefused:
        schedule.next_run_at, schedule.unreadable = None, True
        fired.unreadable += 1
    else:
        schedule.next_run_at = _start(schedule, mode, now, following, fired)
    schedule.save(update_fields=["next_run_at", "unreadable"])


def _mode(schedule: BackupSchedule, following: datetime | None) -> str:
    """Full, when an occurrence that its full rule selects passed since its newest run started."""
    newest = schedule.runs.order_by("-started_at", "-id").values_list("started_at", flat=True)
    full = owes_full(schedule, newest.first() or schedule.created_at, following)
    return BackupRun.Mode.FULL if full else BackupRun.Mode.INCREMENTAL


def _start(
    schedule: BackupSchedule,
    mode: str,
    now: datetime,
    following: datetime | None,
    fired: Fired,
) -> datetime | None:
    """Start its run; answers what it owes then."""
    try:
        request_run(
            schedule.target,
            trigger=BackupRun.Trigger.SCHEDULE,
            content=schedule.content,
            tenant=schedule.tenant,
            mode=mode,
            schedule=schedule,
        )
    except TargetBusy:
        fired.busy += 1
        return now + BUSY
    except TargetDisabled:  # since a moment ago: it owes nothing until somebody enables it
        return schedule.next_run_at
    except ContentUnknown:
        fired.refused += 1
        return following
    fired.started += 1
    return following
