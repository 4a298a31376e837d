"""The job that carries out a schedule's plan, queued in the commit that closed a run well."""

from datetime import timedelta
from uuid import UUID

from backups.changes.forget import forget
from backups.errors import TargetError
from backups.expiry import expire_after
from backups.models import BackupRun, BackupSchedule
from backups.signals import expiry_failed
from backups.targets.opening import open_store
from hubqueue.api import Done, JobContext, Result, Retry, handler

ATTEMPTS = 3


@handler(
    "backups.expire",
    detached=True,
    queue="backups",
    max_attempts=ATTEMPTS,
    timeout=timedelta(hours=6),
)
def expire_archives(job: JobContext, *, run_id: UUID) -> Result:
    """Expire what the plan of the run's schedule does not keep, and forget what no archive can ask for any more.

    At least once. Nothing is deleted at a target that is not enabled.
    A target that does not answer three times is left to the next run that works.
    """
    run = BackupRun.objects.select_related("target").filter(pk=run_id).first()
    if run is None or not _ended_well(run) or not run.target.enabled:
        return Done()
    try:
        with open_store(run.target) as store:
            expired = expire_after(run, store)
    except TargetError as failed:
        if job.attempt < ATTEMPTS:
            return Retry(code=failed.code)
        expiry_failed.send(BackupSchedule, schedule_id=run.schedule_id, code=failed.code)
        return Done({"code": failed.code})
    return Done({"expired": expired, "forgotten": forget()})


def expire_later(run: BackupRun) -> UUID | None:
    """Queue it, in the transaction that closes ``run``; answers the job's id.

    None, and nothing is queued, for a run that did not work or has no schedule: such a run deletes nothing.
    """
    closed = BackupRun.objects.filter(pk=run.pk).first()
    if closed is None or not _ended_well(closed):
        return None
    job = expire_archives.using(dedupe_key=str(closed.schedule_id)).enqueue(run_id=closed.pk)
    return job.id


def _ended_well(run: BackupRun) -> bool:
    return run.state == BackupRun.State.SUCCEEDED and run.schedule_id is not None
