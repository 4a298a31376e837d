"""A job for every minute, and a duty that hangs where a test asks for it."""

import os

from django.db import connection

from hubqueue.api import Cadence, JobContext, Missed, duty, handler, periodic


@periodic(cron="* * * * *", name="clockwork.minute", missed=Missed.ALL, limit=10_000)
@handler("clockwork.tick")
def tick(job: JobContext) -> None:
    """Nothing: the row is what counts."""


if os.environ.get("SCHEDULER_HANG"):

    @duty("clockwork.hang", cadence=Cadence.TICK)
    def hang() -> None:
        """Wait in the database for longer than anybody will."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(3600)")
