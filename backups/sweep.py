"""What runs and expiries that died left at a target is deleted when nobody can come back to it any more."""

from datetime import timedelta

from django.db import router

from backups.archive.listing import Found, State, archives
from backups.archive.owner import owner_of
from backups.deletion import UNFINISHED_FOR, delete_directory, delete_marked
from backups.errors import ObjectKept
from backups.installation import is_own
from backups.models import BackupRun, BackupTarget
from backups.signals import archives_swept, deletion_failed
from backups.targets.open_target import OpenTarget
from hubqueue.querysets import Now, database_now

Run = BackupRun.State
LOOK_AT_PARTS_FOR = timedelta(days=7)


def sweep(target: BackupTarget, store: OpenTarget) -> int:
    """Delete at the open target what is unfinished, ours and older than seven days; answers how many archives.

    An expiry that died is brought to its end too. Ours is what a run of the target began, or, where rows were lost,
    what says so itself. An archive of a run that is RUNNING, one that is complete, and whatever is not ours (another
    installation's, or one that somebody is copying here) are not touched; neither is one that succeeded and lost its
    checksums in another way: that is a matter for people. Two at once do the same thing twice. Raises ``TargetError``
    when the target does not answer; an object that it keeps is told by ``deletion_failed``.
    """
    delete_marked(target.pk, store)
    swept = 0
    for found in [each for each in archives(store) if each.state is State.UNFINISHED]:
        if not _left_behind(target, found, store):
            continue
        if delete_directory(found.name, store):
            swept += 1
        else:
            deletion_failed.send(BackupTarget, run_id=None, code=ObjectKept.code)
    _sweep_parts(target, store)
    if swept:
        archives_swept.send(BackupTarget, target_id=target.pk, count=swept)
    return swept


def _left_behind(target: BackupTarget, found: Found, store: OpenTarget) -> bool:
    """Asked of the rows at the last moment: a run could have been started meanwhile."""
    assert found.archive is not None
    started = found.archive.started
    if started > database_now(router.db_for_read(BackupRun)) - UNFINISHED_FOR:
        return False
    began = list(BackupRun.objects.filter(started_at=started, target=target))
    # A run that became full has another name than the directory that an earlier attempt of it began.
    of_it = [each for each in began if each.archive in {found.name, ""}]
    if any(each.state in {Run.RUNNING, Run.SUCCEEDED} for each in of_it):
        return False
    return bool(began) or is_own(owner_of(store, found.name))


def _sweep_parts(target: BackupTarget, store: OpenTarget) -> None:
    """A run that died before its first object was whole left parts of it that no listing shows."""
    long_ago = Now() - UNFINISHED_FOR
    dead = BackupRun.objects.filter(
        target=target,
        state__in=[Run.FAILED, Run.CANCELLED],
        finished_at__range=(long_ago - LOOK_AT_PARTS_FOR, long_ago),
    ).exclude(archive="")
    for run in dead:
        try:
            store.sweep(run.archive)
        except ObjectKept as kept:
            deletion_failed.send(BackupTarget, run_id=run.pk, code=kept.code)
