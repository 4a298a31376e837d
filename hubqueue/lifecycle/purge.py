"""Purge: remove what has been finished for long enough, a small batch at a time.

No index knows when a job finished, and none should. Ids are ordered by time of birth and nothing finishes
before it is born, so a walk over the primary key up to the id of the cutoff meets everything that may go.
"""

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DatabaseError, transaction

from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.sql import sql

log = logging.getLogger("hubqueue.lifecycle")

BATCH = 1_000
PATIENCE = "3s"
FIRST_ID = UUID(int=0)
NEW_PASS_EVERY = timedelta(hours=1)


@dataclass(slots=True)
class Walk:
    """Where the walk over the jobs stands. Kept in memory: a walk that starts anew only reads more.

    What it passes and leaves (unfinished, kept longer, locked just then) it meets again on the next pass,
    an hour later.
    """

    after: UUID = FIRST_ID
    batch: int = BATCH
    began: datetime | None = None
    at_end: bool = False


def purge_jobs(
    walk: Walk,
    *,
    now: datetime,
    keep_finished: timedelta,
    keep_dead: timedelta,
    within: timedelta,
    using: str,
) -> int:
    """Delete SUCCEEDED and CANCELLED jobs older than ``keep_finished``, DEAD ones older than ``keep_dead``.

    Each batch is its own commit and examines at least one row, so every call gets further however short
    ``within`` is. Answers how many jobs are gone.
    """
    ceiling = _lowest_id(now - min(keep_finished, keep_dead))
    cutoffs = {"finished_before": now - keep_finished, "dead_before": now - keep_dead}
    if walk.began is None or (walk.at_end and now - walk.began >= NEW_PASS_EVERY):
        walk.after, walk.began = FIRST_ID, now
    ends = time.monotonic() + within.total_seconds()
    gone = 0
    while True:
        gone += _step(walk, ceiling, cutoffs, using=using)
        if walk.at_end or time.monotonic() >= ends:
            return gone


def purge_failures(*, before: datetime, within: timedelta, using: str) -> int:
    """Delete the history of attempts that failed before ``before``, whatever became of their jobs."""
    return _repeat("purge_failures", {"before": before}, within=within, using=using)


def purge_ticks(*, before: datetime, within: timedelta, using: str) -> int:
    """Delete records of periodic ticks from before ``before``, but never the newest of a schedule."""
    return _repeat("purge_ticks", {"before": before}, within=within, using=using)


def purge_workers(*, before: datetime, within: timedelta, using: str) -> int:
    """Delete the rows of workers whose lease passed before ``before`` and that hold no job any more."""
    return _repeat("purge_workers", {"before": before}, within=within, using=using)


def _step(walk: Walk, ceiling: UUID, cutoffs: dict[str, datetime], *, using: str) -> int:
    """Examine one page, delete what may go, and move on.

    A batch that the database refuses (a deadline, somebody's foreign key) is halved; a single row that it
    refuses is passed.
    """
    page = _page(walk, ceiling, cutoffs, using=using)
    walk.at_end = len(page) < walk.batch
    doomed = [job_id for job_id, may_go in page if may_go]
    gone = 0
    if doomed:
        try:
            gone = _delete(doomed, cutoffs, using=using)
        except DatabaseError as raised:
            if not connection(using).is_usable():
                raise
            if walk.batch > 1:
                walk.batch, walk.at_end = walk.batch // 2, False
                return 0
            log.warning("job %s cannot be purged: %s", doomed[0], broken_by(raised).code)
    if page:
        walk.after = page[-1][0]
    walk.batch = min(BATCH, walk.batch + walk.batch // 4 + 1)
    return gone


def _page(
    walk: Walk, ceiling: UUID, cutoffs: dict[str, datetime], *, using: str
) -> list[tuple[UUID, bool]]:
    with connection(using).cursor() as cursor:
        cursor.execute(
            sql("purge_page"),
            {**cutoffs, "after": walk.after, "ceiling": ceiling, "batch": walk.batch},
        )
        rows: list[tuple[UUID, bool]] = cursor.fetchall()
    return rows


def _delete(doomed: list[UUID], cutoffs: dict[str, datetime], *, using: str) -> int:
    with transaction.atomic(using=using), connection(using).cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [PATIENCE])
        cursor.execute(sql("purge_jobs"), {**cutoffs, "ids": doomed})
        (gone,) = cursor.fetchone()
    return int(gone)


def _repeat(name: str, bound: dict[str, datetime], *, within: timedelta, using: str) -> int:
    ends = time.monotonic() + within.total_seconds()
    gone = 0
    while True:
        with connection(using).cursor() as cursor:
            cursor.execute(sql(name), {**bound, "batch": BATCH})
            batch: int = cursor.rowcount
            gone += batch
            if batch < BATCH or time.monotonic() >= ends:
                return gone


def _lowest_id(moment: datetime) -> UUID:
    """The lowest UUIDv7 of that millisecond."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)
