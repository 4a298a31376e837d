"""Once a day a job for each enabled target sweeps it; one that does not answer keeps no other waiting."""

from datetime import timedelta
from uuid import UUID

from backups.changes.forget import forget
from backups.errors import TargetError
from backups.models import BackupTarget
from backups.signals import target_failed
from backups.sweep import sweep
from backups.targets.opening import open_store
from hubqueue.api import Cadence, Done, JobContext, Result, Retry, duty, handler

ATTEMPTS = 3


@handler(
    "backups.sweep",
    detached=True,
    queue="backups",
    max_attempts=ATTEMPTS,
    timeout=timedelta(hours=6),
)
def sweep_target(job: JobContext, *, target_id: UUID) -> Result:
    """Sweep it. At least once. A target that does not answer three times is left for the next day."""
    target = BackupTarget.objects.filter(pk=target_id, enabled=True).first()
    if target is None:
        return Done()
    try:
        with open_store(target) as store:
            return Done({"swept": sweep(target, store)})
    except TargetError as failed:
        if job.attempt < ATTEMPTS:
            return Retry(code=failed.code)
        target_failed.send(BackupTarget, target_id=target.pk, code=failed.code)
        return Done({"code": failed.code})


@duty("backups.sweep", cadence=Cadence.DAY)
def sweep_targets() -> None:
    """Queue the sweep of every enabled target; one that still waits for its last one gets no second.

    Deletions that no archive can ask for are forgotten, so that they do not pile up where nothing expires.
    """
    forget()
    for target_id in BackupTarget.objects.filter(enabled=True).values_list("pk", flat=True):
        sweep_target.using(dedupe_key=str(target_id)).enqueue(target_id=target_id)
