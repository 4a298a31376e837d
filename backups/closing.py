"""The ends of a run. Each is written once, in the transaction of the job's own end, with what follows from it.

People are told, and after a run that worked the schedule's plan is carried out by a job of its own.
"""

from typing import Any
from uuid import UUID

from backups.archive.manifest import Manifest
from backups.expire_handler import expire_later
from backups.models import BackupRun
from backups.notices import tell_end_of
from hubqueue.querysets import Now

State = BackupRun.State


def succeed(run_id: UUID, manifest: Manifest) -> None:
    """RUNNING: its archive is complete and was read back."""
    _close(
        run_id,
        State.SUCCEEDED,
        code="",
        share=1,
        rows=sum(manifest.counts.values()),
        media=manifest.media.count,
        media_missing=manifest.media.missing,
        bytes=sum(member.bytes for member in manifest.members),
        snapshot_at=manifest.snapshot.at,
        transactions=manifest.snapshot.transactions,
        verified_at=Now(),
        findings=[],
    )


def fail(run_id: UUID, code: str) -> None:
    """RUNNING: its job was given up; ``code`` says why."""
    _close(run_id, State.FAILED, code=code[:60])


def cancel(run_id: UUID) -> None:
    """RUNNING: an officer stopped it."""
    _close(run_id, State.CANCELLED)


def _close(run_id: UUID, state: State, **values: Any) -> None:
    running = BackupRun.objects.filter(pk=run_id, state=State.RUNNING)
    if not running.update(state=state, finished_at=Now(), **values):
        return
    run = BackupRun.objects.get(pk=run_id)
    tell_end_of(run)
    expire_later(run)
