"""The soak's own handlers. Their effects stand in the ledger of the common load."""

import asyncio
from datetime import datetime, timedelta
from functools import partial

from django.db import connection

from hubqueue.api import Dead, Done, JobContext, Missed, Result, handler, periodic
from tests.faults.burden.handlers import MANY, SOON, began, do
from tests.support.proof.handlers import HOLDING_THE_GIL

DOOMED = "doomed"
LONG = timedelta(seconds=30)


@handler("soak.doomed", max_attempts=MANY, backoff=SOON)
def doomed(job: JobContext, *, name: str) -> Result | None:
    """A dead letter, until an officer had mercy and redrove it."""
    began(job)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM soak_mercy WHERE name = %s", [name])
        if cursor.fetchone() is None:
            return Dead(DOOMED)
    do(job, name)
    return None


@handler("soak.gil", detached=True, timeout=LONG, max_attempts=MANY, backoff=SOON)
def gil(job: JobContext, *, name: str, seconds: int) -> Result:
    """Nothing else in its process runs meanwhile."""
    began(job)
    HOLDING_THE_GIL.sleep(seconds)
    return Done({"by": job.claimed.fence}, record=partial(do, job, name))


@handler("soak.patient", detached=True, timeout=LONG, max_attempts=MANY, backoff=SOON)
async def patient(job: JobContext, *, name: str, seconds: float) -> Result:
    """Many of these wait at once in one process."""
    began(job)
    await asyncio.sleep(seconds)
    async with job.atransaction():
        pass
    return Done({"by": job.claimed.fence}, record=partial(do, job, name))


@periodic(cron="* * * * *", missed=Missed.ALL)
@handler("soak.tick", max_attempts=MANY, backoff=SOON)
def tick(job: JobContext) -> None:
    """Once for each minute."""
    began(job)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO soak_tick (at, job) VALUES (%s, %s)",
            [datetime.fromisoformat(job.meta["tick"]), job.id],
        )
