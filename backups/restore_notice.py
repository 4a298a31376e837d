"""What people are told of a restore that failed."""

from django.utils.translation import gettext_lazy as _

from backups.categories import SAMPLE, VIEW_RUNS, path
from backups.models import BackupRestore
from notifications.categories import Category, Subject
from notifications.models import Notification

Mode, Phase = BackupRestore.Mode, BackupRestore.Phase
ROWS_GONE = {Phase.CLEAR, Phase.LOAD, Phase.LINK}


def describe(notification: Notification) -> Subject | None:
    """None for who may not look at runs, and when the restore is gone."""
    restores = BackupRestore.objects.select_related("run__target")
    restore = restores.filter(pk=notification.subject_id).first()
    if restore is None or not notification.recipient.has_perm(VIEW_RUNS):
        return None
    values = {
        "tenant": restore.tenant or "",
        "archive": restore.run.archive,
        "target": str(restore.run.target),
        "code": restore.code,
        "half": restore.mode == Mode.REPLACE and restore.phase in ROWS_GONE,
    }
    return Subject(values, path("backuprestore", restore.pk))


def sample() -> Subject:
    return Subject({**SAMPLE, "tenant": "acme", "half": True}, "/")


RESTORE_FAILED = Category(
    "backups.restore_failed",
    _("A restore failed"),
    suppressible=True,
    describe=describe,
    sample=sample,
)
