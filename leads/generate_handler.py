"""The jobs that generate leads: the pass, the run an officer asked for, and the quarter-hourly seed."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import router

from hubqueue.api import Done, JobContext, Repeat, Result, handler, periodic, poller
from hubqueue.querysets import database_now
from leads import leasing
from leads.errors import WalkLeaseLost
from leads.generation import run_one, run_pass
from leads.leasing import Lease
from leads.models import LeadRequest

KEY = "leads.generate"
BREATH = timedelta(seconds=1)


@handler("leads.generate", detached=True, queue="leads", timeout=timedelta(hours=2))
def generate(job: JobContext) -> Result:
    """Walk every request that is due; come back while any is open.

    At least once: every page commits by itself, and what a run has stored the next one passes over.
    """
    outcome = run_pass(job)
    due = leasing.next_due()
    if due is None:
        return Done(result={**outcome.summary.numbers()})
    if not outcome.drained:
        return Repeat(after=timedelta(0))
    # Due, and yet not claimed: somebody holds the row. Armed since: the wake-up of that commit counts.
    if due <= database_now(router.db_for_write(LeadRequest)):
        return Repeat(after=BREATH)
    return Repeat(at=due)


@handler("leads.run", detached=True, queue="leads", priority=-10, timeout=timedelta(hours=2))
def run(job: JobContext, *, request_id: UUID, lease_token: UUID) -> Result:
    """Walk the one request that an officer leased. Does nothing once that lease is gone."""
    try:
        lease = leasing.resume(request_id, lease_token)
    except WalkLeaseLost:
        return Done(result={"lost": 1})
    outcome = run_one(job, lease)
    if leasing.next_due() is not None:
        generate.using(dedupe_key=KEY).enqueue()
    return Done(result={**outcome.summary.numbers()})


@run.on_abandon
def free(job: JobContext) -> None:
    """Give up the officer's lease with the job, so that the next pass need not wait for its end."""
    payload = job.claimed.payload
    request = LeadRequest.objects.filter(
        pk=payload["request_id"], lease_token=payload["lease_token"]
    ).first()
    if request is not None and request.lease_token is not None:
        lease = Lease(
            request.pk,
            request.event_id,
            request.lease_token,
            request.failures,
            failing=request.failures > 0 and request.failing_since is not None,
        )
        leasing.let_go(lease, request.progress)


@periodic(cron="*/15 * * * *")
@handler("leads.seed", queue="leads")
def seed(job: JobContext) -> None:
    """Start the pass, unless one is waiting or running."""
    generate.using(dedupe_key=KEY).enqueue()


def owes() -> datetime | None:
    """When the pass must run next, or None."""
    return leasing.next_due()


poller(generate, dedupe_key=KEY, owes=owes)
