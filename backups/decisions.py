"""What the plans of schedules say of the archives that are there, in words. Nothing here deletes."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import router
from django.db.models import Q, QuerySet

from backups.deletion import UNFINISHED_FOR
from backups.models import BackupRun, BackupSchedule
from backups.retention.archives import Archive, State, Trigger
from backups.retention.plan import Plan
from backups.retention.rule import Decision, decide
from backups.retention.union import united
from backups.whole import held_by_restores
from hubqueue.querysets import database_now

Run = BackupRun.State
HELD_FOR = timedelta(days=1)  # from whenever it is asked, while a restore runs
STATES = {
    Run.RUNNING: State.RUNNING,
    Run.SUCCEEDED: State.COMPLETE,
    Run.FAILED: State.FAILED,
    Run.CANCELLED: State.FAILED,
}


def decisions_of(schedule: BackupSchedule, *, now: datetime | None = None) -> tuple[Decision, ...]:
    """What becomes of the archives of the scope of ``schedule`` at its target, newest first; changes nothing.

    What its plan does not keep stays when that of another schedule of the scope at the target does, enabled or not.
    ``now`` is the moment that is decided for, by default the present one on the database's clock. Raises
    ``ValueError`` for a plan, and ``KeyError`` for a zone, that there cannot be, the others' included.
    """
    moment = now or database_now(router.db_for_read(BackupRun))
    archives = _archives(schedule, moment)
    others = {each.name: _decided(archives, each, moment) for each in others_of(schedule)}
    return united(_decided(archives, schedule, moment), others)


def others_of(schedule: BackupSchedule) -> QuerySet[BackupSchedule]:
    """The other schedules of the same scope at the same target: an archive stays while any plan keeps it."""
    same = BackupSchedule.objects.filter(
        target=schedule.target_id, tenant=schedule.tenant, content=schedule.content
    )
    return same.exclude(pk=schedule.pk).order_by("name")


def of_scope(schedule: BackupSchedule) -> QuerySet[BackupRun]:
    """Every run at the schedule's target that makes archives of what the schedule makes archives of."""
    return BackupRun.objects.filter(
        target=schedule.target_id, tenant=schedule.tenant, content=schedule.content
    )


def plan_of(schedule: BackupSchedule) -> Plan:
    """How much a schedule keeps. Raises ``ValueError``."""
    return Plan(
        keep_last=schedule.keep_last,
        keep_daily=schedule.keep_daily,
        keep_weekly=schedule.keep_weekly,
        keep_monthly=schedule.keep_monthly,
        keep_yearly=schedule.keep_yearly,
        min_keep=schedule.min_keep,
    )


def _archives(schedule: BackupSchedule, moment: datetime) -> list[Archive]:
    held = held_by_restores(schedule.target_id)
    rows = of_scope(schedule).filter(
        Q(state__in=[Run.RUNNING, Run.SUCCEEDED]) | Q(started_at__gt=moment - UNFINISHED_FOR),
        state__in=list(STATES),
    )
    until = moment + HELD_FOR
    return [_archive(each, held_until=until if each.pk in held else None) for each in rows]


def _decided(
    archives: list[Archive], schedule: BackupSchedule, moment: datetime
) -> tuple[Decision, ...]:
    return decide(
        archives,
        plan_of(schedule),
        scope=_scope(schedule),
        target=str(schedule.target_id),
        zone=ZoneInfo(schedule.zone),
        now=moment,
    )


def _archive(run: BackupRun, *, held_until: datetime | None) -> Archive:
    """``held_until``: a restore reads it, so that it is pinned for now."""
    marked = run.expiring_at is not None
    pins = [each for each in (run.pinned_until, held_until) if each is not None]
    return Archive(
        id=str(run.pk),
        scope=_scope(run),
        target=str(run.target_id),
        start=run.started_at,
        state=State.UNFINISHED if marked else STATES[Run(run.state)],
        verified=run.verified_at is not None and not run.findings,
        trigger=Trigger(run.trigger),
        parent=str(run.parent_id) if run.parent_id else None,
        pinned_until=max(pins, default=None),
    )


def _scope(of: BackupRun | BackupSchedule) -> str:
    return f"{of.content} {'of the installation' if of.tenant is None else of.tenant}"
