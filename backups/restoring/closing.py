"""The ends of a restore, each written once, in the transaction of its job's own end, and told in it."""

from typing import Any
from uuid import UUID

from backups.models import BackupRestore, NewKey, RestoreKey
from backups.restoring.notes import left_behind
from backups.restoring.standstill import resume
from backups.restoring.telling import tell_end_of
from backups.restoring.undo_handler import undo_restore
from hubqueue.querysets import Now

State, Mode, Phase = BackupRestore.State, BackupRestore.Mode, BackupRestore.Phase
UNTOUCHED = (Phase.CHECK, Phase.FILES, Phase.KEYS, Phase.COPY, Phase.PARK)


def succeed(restore_id: UUID, *, using: str, **values: Any) -> None:
    """RUNNING: every row is there. The tenant goes on; what was parked waits for an officer."""
    restore = _close(restore_id, State.SUCCEEDED, code="", share=1, **values)
    if restore is None or restore.mode == Mode.INSPECT:
        return
    RestoreKey.objects.filter(restore=restore).delete()
    NewKey.objects.filter(restore=restore).delete()
    if restore.mode == Mode.REPLACE:
        left_behind(restore).delete()
        resume(restore, why=f"the restore {restore_id} has ended")


def fail(restore_id: UUID, code: str) -> None:
    """RUNNING: its job was given up; ``code`` says why."""
    _break_off(_close(restore_id, State.FAILED, code=code[:60]))


def cancel(restore_id: UUID) -> None:
    """RUNNING: an officer stopped it."""
    _break_off(_close(restore_id, State.CANCELLED))


def _break_off(restore: BackupRestore | None) -> None:
    """Where rows are gone the tenant stays paused, until it is restored again or an officer says otherwise.

    Those of a new tenant go again, by a job of their own.
    """
    if restore is None:
        return
    if restore.paused and restore.phase in UNTOUCHED:
        resume(restore, why=f"the restore {restore.pk} was broken off before it changed a row")
    if restore.mode != Mode.NEW_TENANT:
        return
    if restore.phase in UNTOUCHED:
        NewKey.objects.filter(restore=restore).delete()
    else:
        undo_restore.using(dedupe_key=str(restore.pk)).enqueue(restore_id=restore.pk)


def _close(restore_id: UUID, state: BackupRestore.State, **values: Any) -> BackupRestore | None:
    running = BackupRestore.objects.filter(pk=restore_id, state=State.RUNNING)
    if not running.update(state=state, finished_at=Now(), **values):
        return None
    closed = BackupRestore.objects.get(pk=restore_id)
    tell_end_of(closed)
    return closed
