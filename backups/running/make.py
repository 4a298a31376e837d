"""One attempt of a run, from the target's row to a sound archive."""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from backups.archive.manifest import Manifest
from backups.archive.names import CHECKSUMS
from backups.archive.read import read_manifest
from backups.archive.verify import Progress, verify
from backups.conf import conf
from backups.errors import (
    ArchiveExists,
    ArchiveMissing,
    ArchiveUnfinished,
    BackupError,
    ContentUnknown,
    ObjectMissing,
    ReadBackFailed,
)
from backups.models import BackupRun, BackupTarget, Content
from backups.running.attempt import Attempt
from backups.running.fenced import Fenced
from backups.running.pace import Pace
from backups.running.rows import write_rows
from backups.running.system import write_system
from backups.targets.open_target import OpenTarget
from backups.targets.opening import open_store
from hubqueue.api import JobContext

WRITTEN = 0.8  # the share of a run that writing is; the rest is reading back


class Writes(Protocol):
    """Writes one content; progress from 0 up to ``until``."""

    def __call__(self, attempt: Attempt, *, until: float) -> Manifest: ...


WRITERS: dict[str, Writes] = {Content.ROWS: write_rows, Content.SYSTEM: write_system}


def refuse_unknown(content: str) -> None:
    """Raise ``ContentUnknown`` for a content that nothing here writes."""
    if content not in WRITERS:
        known = ", ".join(WRITERS)
        raise ContentUnknown(
            f"expected a content that this version writes ({known}), got {content!r}"
        )


def make(job: JobContext, run: BackupRun) -> Manifest:
    """Write the archive of ``run`` under a new snapshot, and read it back: what is answered is sound.

    An archive that an earlier attempt completed, and that is sound, is answered as it is. One that is not sound
    loses its checksums, so that it is no archive, and ``ReadBackFailed`` is raised; the findings are on the row.
    Raises ``BackupError``, ``StopRequested``, ``LeaseLost``.
    """
    refuse_unknown(run.content)
    encrypted = run.target.encryption == BackupTarget.Encryption.CLIENT
    key = conf().keys.writing if encrypted else None
    with open_store(run.target) as opened:
        attempt = Attempt(job, run, Fenced(opened, job), key, Pace(job, run))
        if _is_complete(attempt):
            with suppress(ReadBackFailed):
                return _read_back(attempt, encrypted=encrypted)
        WRITERS[run.content](attempt, until=WRITTEN)
        return _read_back(attempt, encrypted=encrypted)


def discard(job: JobContext, run: BackupRun) -> None:
    """Delete what this attempt left of an archive that will not be finished, as far as the target lets us.

    A complete archive of another run is not touched. Raises ``LeaseLost``, before anything is deleted.
    """
    with job.transaction():
        pass
    with suppress(BackupError), open_store(run.target) as opened:
        if _is_ours(opened, run):
            _delete(opened, run.archive)


def _is_complete(attempt: Attempt) -> bool:
    try:
        attempt.store.size(f"{attempt.run.archive}/{CHECKSUMS}")
    except ObjectMissing:
        return False
    return True


def _read_back(attempt: Attempt, *, encrypted: bool) -> Manifest:
    run = attempt.run
    report = verify(
        attempt.store, run.archive, conf().keys, encrypted=encrypted, progress=_told(attempt.pace)
    )
    if report.manifest is not None and report.manifest.archive != run.pk:
        raise ArchiveExists(f"Another run made the archive {run.archive} already.")
    if report.manifest is not None and report.sound:
        return report.manifest
    with attempt.job.transaction():
        BackupRun.objects.filter(pk=run.pk).update(
            findings=sorted({finding.code for finding in report.findings})
        )
    attempt.store.delete(f"{run.archive}/{CHECKSUMS}")
    raise ReadBackFailed(f"The archive {run.archive} is not sound: it is written again.")


def _told(pace: Pace) -> Callable[[Progress], None]:
    return lambda read: pace.at(WRITTEN + (1 - WRITTEN) * read.bytes / max(1, read.of_bytes))


def _is_ours(store: OpenTarget, run: BackupRun) -> bool:
    try:
        return read_manifest(store, run.archive)[0].archive == run.pk
    except ArchiveMissing:
        return False
    except ArchiveUnfinished:
        return True


def _delete(store: OpenTarget, archive: str) -> None:
    store.delete(f"{archive}/{CHECKSUMS}")  # first: from then on it is no archive
    for each in list(store.list(f"{archive}/")):
        store.delete(each.name)
    store.sweep(archive)
