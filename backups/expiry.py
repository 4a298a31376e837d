"""After a run that worked, what the plans of its scope do not keep any more goes."""

from django.db import router, transaction

from backups.decisions import decisions_of
from backups.deletion import delete_marked
from backups.errors import BackupError
from backups.models import BackupRun, BackupSchedule
from backups.retention.rule import expiring
from backups.signals import expiry_failed
from backups.targets.open_target import OpenTarget
from backups.whole import begin_deleting
from hubqueue.querysets import Now

Run = BackupRun.State


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
