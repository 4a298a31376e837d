"""Reading an archive back at its target: what is wrong with it is kept with its run."""

from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import transaction

from backups.archive.verify import Progress, Report, verify
from backups.conf import conf
from backups.errors import TargetError
from backups.models import BackupRun, BackupTarget
from backups.notices import tell_unsound
from backups.signals import archive_verified
from backups.targets.opening import open_store
from backups.whole import whole_archives
from hubqueue.api import Backoff, Done, JobContext, Result, Retry, handler
from hubqueue.querysets import Now


@handler(
    "backups.verify",
    detached=True,
    queue="backups",
    max_attempts=8,
    backoff=Backoff(base=timedelta(minutes=1), cap=timedelta(hours=1)),
    timeout=timedelta(hours=24),
)
def verify_archive(job: JobContext, *, run_id: UUID, asked_by: str = "") -> Result:
    """Read every byte of the archive. At least once. An unsound one is a finding, and the job is done.

    A target that does not answer says nothing of the archive: it is asked again later.
    """
    run = whole_archives().select_related("target").filter(pk=run_id).first()
    if run is None:
        return Done({"verified": False})
    try:
        report = _read(run, job)
    except TargetError as failed:
        return Retry(code=failed.code)
    codes = list(dict.fromkeys(each.code for each in report.findings))
    return Done({"verified": True, "findings": codes}, record=partial(_record, run, codes, job.id))


def _read(run: BackupRun, job: JobContext) -> Report:
    def told(at: Progress) -> None:
        job.checkpoint()
        job.progress(at.bytes / at.of_bytes if at.of_bytes else 1)

    with open_store(run.target) as store:
        return verify(
            store,
            run.archive,
            conf().keys,
            encrypted=run.target.encryption == BackupTarget.Encryption.CLIENT,
            progress=told,
        )


def _record(run: BackupRun, codes: list[str], job_id: UUID) -> None:
    """What was found counts only while the archive is not being deleted: that would be found as damage."""
    if not whole_archives().filter(pk=run.pk).update(verified_at=Now(), findings=codes):
        return
    if codes:
        tell_unsound(run, job_id)
    told = partial(archive_verified.send, BackupRun, run_id=run.pk, sound=not codes, codes=codes)
    transaction.on_commit(told)
