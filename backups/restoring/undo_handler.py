"""The job that takes away what a restore into a new tenant left when it was broken off."""

from datetime import timedelta
from uuid import UUID

from backups.models import BackupRestore
from backups.restoring.undo import undo
from hubqueue.api import Done, JobContext, Result, handler


@handler("backups.undo_restore", detached=True, queue="backups", timeout=timedelta(hours=24))
def undo_restore(job: JobContext, *, restore_id: UUID) -> Result:
    """Take the rows away. At least once: what is gone is gone, and the tenant's name is free at the end."""
    restore = BackupRestore.objects.filter(pk=restore_id, cleared=False).first()
    if restore is not None:
        undo(job, restore)
    return Done()
