"""A handler for periodic jobs, and a clock that runs faster."""

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from django.db import connection

from hubqueue.api import Handler, JobContext, Missed, handler
from hubqueue.registry import Schedule, registry

KIND = "schedulertest.tick"


@pytest.fixture
def ticking() -> Iterator[Handler[[]]]:
    """A registered handler without arguments."""

    @handler(KIND)
    def tick(job: JobContext) -> None:
        """Nothing."""

    yield tick
    del registry.by_kind[KIND], registry.handlers[KIND]


@pytest.fixture
def schedule(ticking: Handler[[]]) -> Callable[..., Schedule]:
    """Make schedules that are not registered: `schedule("* * * * *", missed=Missed.ALL)`."""

    def make(
        cron: str = "* * * * *",
        *,
        name: str = "every.minute",
        timezone: str = "UTC",
        missed: Missed = Missed.LATEST,
        limit: int = 100,
    ) -> Schedule:
        return Schedule(name, ticking, cron, timezone, missed, limit)

    return make


@pytest.fixture
def fast_clock(transactional_db: None) -> Iterator[Callable[[int], datetime]]:
    """`fast_clock(60)`: from now on an hour of the queue's clock takes a minute."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef('hubqueue_now'::regproc)")
        (normal,) = cursor.fetchone()

        def speed_up(factor: int) -> datetime:
            cursor.execute("SELECT statement_timestamp()")
            (start,) = cursor.fetchone()
            cursor.execute(
                "CREATE OR REPLACE FUNCTION hubqueue_now() RETURNS timestamptz LANGUAGE sql STABLE"
                f" AS $$ SELECT timestamptz '{start.isoformat()}' + (statement_timestamp()"
                f" - timestamptz '{start.isoformat()}') * {int(factor)} $$"
            )
            return start

        yield speed_up
        cursor.execute(normal)
