"""What the officers are told of a schedule that has made no backup for too long."""

from django.utils.translation import gettext_lazy as _

from backups.categories import SAMPLE, VIEW_RUNS, path
from backups.models import BackupRun, BackupSchedule
from notifications.categories import Category, Subject
from notifications.models import Notification

NAME = "backups.schedule_stale"
WORKED = (BackupRun.State.SUCCEEDED, BackupRun.State.EXPIRED)


def newest_success(schedule: BackupSchedule) -> BackupRun | None:
    """The newest run of the schedule that worked, whether its archive is still there or not."""
    return schedule.runs.filter(state__in=WORKED).order_by("-started_at").first()


def cause_of(schedule: BackupSchedule) -> str:
    """The name of this staleness: after the next run that works another one has another."""
    last = newest_success(schedule)
    return f"{NAME}:{schedule.pk}:{last.pk if last else 'never'}"


def describe(notification: Notification) -> Subject | None:
    """None when one worked since, nobody wants it any more, or the recipient may not look at runs."""
    schedules = BackupSchedule.objects.select_related("target").filter(enabled=True)
    schedule = schedules.filter(pk=notification.subject_id).first()
    if schedule is None or cause_of(schedule) != notification.cause_id:
        return None
    if not notification.recipient.has_perm(VIEW_RUNS):
        return None
    last = newest_success(schedule)
    values = {
        "schedule": str(schedule),
        "target": str(schedule.target),
        "last": last.finished_at if last else None,
        "unreadable": schedule.unreadable,
    }
    return Subject(values, path("backupschedule", schedule.pk))


def sample() -> Subject:
    return Subject({**SAMPLE, "last": SAMPLE["started"], "unreadable": False}, "/")


SCHEDULE_STALE = Category(
    NAME,
    _("A scheduled backup has not worked for too long"),
    suppressible=True,
    describe=describe,
    sample=sample,
)
