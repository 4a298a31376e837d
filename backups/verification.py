"""Asking for an archive to be verified."""

from uuid import UUID

from backups.errors import ArchiveMissing
from backups.models import BackupRun
from backups.verify_handler import verify_archive
from backups.whole import whole_archives


def request_verification(run: BackupRun, asked_by: str = "") -> UUID:
    """Queue it in the open transaction; asked for again while it waits, it is one. Answers the job's id.

    Raises ``ArchiveMissing`` for a run that has no whole archive: it has not succeeded, or is expiring.
    """
    if not whole_archives().filter(pk=run.pk).exists():
        raise ArchiveMissing("This run has no archive that could be verified.")
    job = verify_archive.using(dedupe_key=str(run.pk)).enqueue(run_id=run.pk, asked_by=asked_by)
    return job.id
