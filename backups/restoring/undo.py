"""The rows of a new tenant go again when the restore that wrote them was broken off."""

from backups.data.spec import discover
from backups.data.tables import tables
from backups.models import BackupRestore, NewKey, RestoreKey
from backups.restoring.clear import begin, clear
from backups.restoring.work import Work
from hubqueue.api import JobContext


def undo(job: JobContext, restore: BackupRestore) -> None:
    """Take away all rows of the tenant's own, a batch at a time; ``cleared`` is written when none is left.

    Shared rows that were added stay. Raises ``LoadRefused``, ``StopRequested``, ``LeaseLost``.
    """
    work = Work(job, restore, (), tuple(tables(discover())), ())
    with work.batch():
        begin(work)
    clear(work)
    with work.batch():
        RestoreKey.objects.filter(restore=restore).delete()
        NewKey.objects.filter(restore=restore).delete()
