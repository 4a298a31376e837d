"""What officers are told of backups."""

from datetime import UTC, datetime

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from backups.models import BackupRun
from notifications.categories import Category, Subject
from notifications.models import Notification

VIEW_RUNS = "backups.view_backuprun"
SAMPLE = {
    "schedule": "Every night",
    "target": "Cellar",
    "started": datetime(2026, 11, 30, 2, 30, tzinfo=UTC),
    "code": "backups.target_unreachable",
    "archive": "hubqueue-backup-all-20261130T023000.000000Z-full",
    "codes": "backups.member_damaged",
}


def describe_run(notification: Notification) -> Subject | None:
    """The run as it stands now; None for who may not look at runs, and when the run is gone."""
    runs = BackupRun.objects.select_related("schedule", "target")
    run = runs.filter(pk=notification.subject_id).first()
    if run is None or not notification.recipient.has_perm(VIEW_RUNS):
        return None
    values = {
        "schedule": str(run.schedule or ""),
        "target": str(run.target),
        "started": run.started_at,
        "code": run.code,
        "archive": run.archive,
        "codes": ", ".join(run.findings),
    }
    return Subject(values, path("backuprun", run.pk))


def describe_unsound(notification: Notification) -> Subject | None:
    """None as well when it was found sound since, or is deleted."""
    unsound = BackupRun.objects.filter(
        pk=notification.subject_id, state=BackupRun.State.SUCCEEDED
    ).exclude(findings=[])
    return describe_run(notification) if unsound.exists() else None


def path(model: str, row_id: object) -> str:
    """The row's page, in a project that has the admin; ``row_id`` is its key."""
    try:
        return reverse(f"admin:backups_{model}_change", args=[row_id])
    except NoReverseMatch:
        return "/"


def sample() -> Subject:
    return Subject(SAMPLE, "/")


RUN_FAILED = Category(
    "backups.run_failed",
    _("A scheduled backup failed"),
    suppressible=True,
    describe=describe_run,
    sample=sample,
)
RUN_SUCCEEDED = Category(
    "backups.run_succeeded",
    _("A scheduled backup worked"),
    suppressible=True,
    describe=describe_run,
    sample=sample,
)
RUN_RECOVERED = Category(
    "backups.run_recovered",
    _("A scheduled backup worked again after one failed"),
    suppressible=True,
    describe=describe_run,
    sample=sample,
)
ARCHIVE_UNSOUND = Category(
    "backups.archive_unsound",
    _("An archive of a backup was found to be damaged"),
    suppressible=True,
    describe=describe_unsound,
    sample=sample,
)
CATEGORIES = (RUN_FAILED, RUN_SUCCEEDED, RUN_RECOVERED, ARCHIVE_UNSOUND)
