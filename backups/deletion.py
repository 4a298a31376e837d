"""Deleting an archive: its checksums first, so that from the first moment it is none, and never half of one."""

from datetime import timedelta
from uuid import UUID

from django.db.models import Q

from backups.archive.names import CHECKSUMS, ArchiveName
from backups.errors import ObjectKept, ObjectMissing
from backups.models import BackupRun
from backups.signals import archive_expired, deletion_failed
from backups.targets.open_target import OpenTarget

Run = BackupRun.State
UNFINISHED_FOR = timedelta(
    days=7
)  # since the start in its name; after that nobody comes back to it


def delete_marked(target_id: UUID, store: OpenTarget) -> int:
    """Delete every archive at the target that is marked to go, oldest first; answers how many are gone now.

    An object that the target keeps is told by ``deletion_failed``; the other objects, and the other archives, go
    on. Raises ``TargetError`` when the target does not answer: what is marked stays marked.
    """
    gone = 0
    for run in BackupRun.objects.filter(_marked(), target=target_id).order_by("started_at", "id"):
        if _delete_archive(run, store):
            gone += _now(run, state=Run.EXPIRED)
            archive_expired.send(BackupRun, run_id=run.pk)
        else:
            deletion_failed.send(BackupRun, run_id=run.pk, code=ObjectKept.code)
    return gone


def delete_directory(name: str, store: OpenTarget) -> bool:
    """Delete every object of the archive ``name``; answers whether all are gone, and not kept by the target.

    Where it keeps the checksums nothing else is deleted. Raises ``TargetError`` when it does not answer, and
    ``ValueError`` for what is no archive's name: nothing else is ever deleted.
    """
    if ArchiveName.parse(name) is None:
        raise ValueError("only an archive is deleted, this is no archive's name")
    try:
        store.delete(f"{name}/{CHECKSUMS}")
        all_gone = True
    except ObjectKept:
        if is_complete(name, store):
            return False
        all_gone = False
    for each in store.list(f"{name}/"):
        try:
            store.delete(each.name)
        except ObjectKept:
            all_gone = False
    try:
        store.sweep(name)
    except ObjectKept:
        all_gone = False
    return all_gone


def is_complete(name: str, store: OpenTarget) -> bool:
    """Whether the archive has its checksums. Raises ``TargetError``."""
    try:
        store.size(f"{name}/{CHECKSUMS}")
    except ObjectMissing:
        return False
    return True


def _delete_archive(run: BackupRun, store: OpenTarget) -> bool:
    if not run.archive:
        return True  # it never came to a name, so there is nothing at the target
    if delete_directory(run.archive, store):
        return True
    if is_complete(run.archive, store):
        _now(run, expiring_at=None)  # nothing was deleted: it is as good an archive as before
    return False


def _now(run: BackupRun, **fields: object) -> int:
    return BackupRun.objects.filter(_marked(), pk=run.pk).update(**fields)


def _marked() -> Q:
    return Q(state=Run.SUCCEEDED, expiring_at__isnull=False)
