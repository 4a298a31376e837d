"""The job of a tenant's schedules, and the leader's duty towards those of the whole installation."""

from dataclasses import asdict
from datetime import timedelta

from django.db import router

from backups.models import BackupSchedule
from backups.schedules.owed import next_owed, owing
from backups.schedules.passes import run_pass
from hubqueue.api import Cadence, Done, JobContext, Repeat, Result, duty, handler
from hubqueue.querysets import database_now

BREATH = timedelta(seconds=1)
MOST_SEEDED = 100


@handler("backups.schedule", queue="default")
def schedules_of(job: JobContext, *, tenant: str) -> Result:
    """Fire what is due and come back when the next moment is owed; done when nothing is.

    Transactional, one job per tenant (the tenant is its dedupe key). Saving a schedule seeds it again.
    """
    fired = run_pass(tenant)
    owed = next_owed(tenant)
    if owed is None:
        return Done(result=asdict(fired))
    # Still due: more than one pass fires, or another transaction holds the row.
    if owed <= database_now(router.db_for_write(BackupSchedule)):
        return Repeat(after=BREATH)
    return Repeat(at=owed)


def seed(schedule: BackupSchedule) -> None:
    """In the caller's transaction: its tenant's job runs by the moment that ``schedule`` owes."""
    if schedule.tenant is not None and schedule.next_run_at is not None:
        schedules_of.using(
            dedupe_key=schedule.tenant, tenant=schedule.tenant, run_at=schedule.next_run_at
        ).enqueue(tenant=schedule.tenant)


@duty("backups.schedules", cadence=Cadence.MINUTE, deadline=timedelta(seconds=30))
def whole_installation() -> None:
    """Fire what is due of no tenant, and enqueue again the jobs of tenants whose moment passed: they had died."""
    run_pass(None)
    now = database_now(router.db_for_write(BackupSchedule))
    late = owing().filter(tenant__isnull=False, next_run_at__lte=now)
    tenants = late.order_by("tenant").values_list("tenant", flat=True).distinct()
    for tenant in filter(None, tenants[:MOST_SEEDED]):
        schedules_of.using(dedupe_key=tenant, tenant=tenant).enqueue(tenant=tenant)
