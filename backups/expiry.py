"""After a run that worked, what the plans of its scope do not keep any more goes."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import router, transaction
from django.db.models import Q, QuerySet

from backups.deletion import UNFINISHED_FOR, delete_marked
from backups.errors import BackupError
from backups.models import BackupRun, BackupSchedule
from backups.retention.archives import Archive, State, Trigger
from backups.retention.plan import Plan
from backups.retention.rule import Decision, decide, expiring
from backups.retention.union import united
from backups.signals import expiry_failed
from backups.targets.open_target import OpenTarget
from backups.whole import begin_deleting, held_by_restores
from hubqueue.querysets import Now, database_now

Run = BackupRun.State
HELD_FOR = timedelta(days=1)  # from whenever it is asked, while a restore runs
STATES = {
    Run.RUNNING: State.RUNNING,
    Run.SUCCEEDED: State.COMPLETE,
    Run.FAILED: State.FAILED,
    Run.CANCELLED: State.FAILED,
}


def expire_after(run: BackupRun, store: OpenTarget) -> int:
    """What a closed run ends with: ``expire`` its schedule. A run that did not work, or has no schedule, deletes
    nothing.

    Answers how many archives went. Raises nothing but what asks the worker itself to stop: the new archive is safe.
    """
    closed = BackupRun.objects.select_related("schedule").filter(pk=run.pk).first()
    if closed is None or closed.state != Run.SUCCEEDED or closed.schedule is None:
        return 0
    return expire(closed.schedule, store)


def expire(schedule: BackupSchedule, store: OpenTarget) -> int:
    """Delete at the open target of ``schedule`` what no plan of its scope keeps; answers how many archives went.

    Only when the newest run of the schedule that ended is one that worked, and it is not held in a copy. Each archive
    is marked first, in a transaction of its own, then loses its checksums, then the rest, and then its row is EXPIRED:
    whoever dies in between is followed by the next expiry or sweep. Two at once do the same thing twice. Failures are
    told by ``expiry_failed`` and ``deletion_failed``, by code, and not raised. Not to be called in a transaction.
    """
    try:
        if not _mark(schedule):
            return 0
        return delete_marked(schedule.target_id, store)
    except BackupError as failed:
        expiry_failed.send(BackupSchedule, schedule_id=schedule.pk, code=failed.code)
    except Exception:  # whatever it is, the archive that was just made is safe
        expiry_failed.send(BackupSchedule, schedule_id=schedule.pk, code="exception")
    return 0


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


def _mark(schedule: BackupSchedule) -> bool:
    """Whether anything may go now; what goes is marked, and stays marked whatever happens next.

    Decided under a lock that waits for requests of runs that are being committed, and keeps others waiting: so no
    incremental begins on a parent that is being marked.
    """
    with transaction.atomic(using=router.db_for_write(BackupRun), durable=True):
        begin_deleting(schedule.target_id)
        fresh = BackupSchedule.objects.filter(pk=schedule.pk).first()
        if (
            fresh is None
            or fresh.target_id != schedule.target_id
            or fresh.held
            or not _worked(fresh)
        ):
            return False
        going = [each.id for each in expiring(decisions_of(fresh))]
        BackupRun.objects.filter(
            pk__in=going, state=Run.SUCCEEDED, expiring_at__isnull=True
        ).update(expiring_at=Now())
        return True


def _worked(schedule: BackupSchedule) -> bool:
    ended = schedule.runs.filter(finished_at__isnull=False).exclude(state=Run.CANCELLED)
    last = ended.order_by("-finished_at", "-id").first()
    return last is not None and last.state == Run.SUCCEEDED


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
