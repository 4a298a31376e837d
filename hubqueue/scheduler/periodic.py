"""Periodic jobs: every tick of a schedule becomes at most one job, and the record of it in the same commit."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import transaction

from hubqueue.conf import conf
from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.failure import broken_by
from hubqueue.registry import Missed, Schedule
from hubqueue.scheduler.cron import newest_ticks
from hubqueue.scheduler.errors import PartlyFailed
from hubqueue.scheduler.sessions import wait_no_longer
from hubqueue.signals import tick_fired

log = logging.getLogger("hubqueue.scheduler")

LATE_AFTER_TICKS = 4
# A leader that was frozen in mid-transaction holds its rows until the server ends its session; the other
# schedules need not wait for that.
PATIENCE = timedelta(seconds=2)


def late_after() -> timedelta:
    """How late a tick may be decided without counting as missed: four ticks of the scheduler."""
    return conf().tick * LATE_AFTER_TICKS


def decide(
    schedules: Iterable[Schedule],
    now: datetime,
    *,
    using: str,
    decided: dict[str, datetime] | None = None,
) -> int:
    """Enqueue what the schedules owe up to ``now``; answer how many jobs that were.

    Each schedule has its own transaction. Raises ``PartlyFailed`` after all were tried when one failed; what
    it owes is owed at the next tick, too. ``decided`` remembers for the caller up to when each schedule was
    decided: the database is asked only about those that have had a tick since.
    """
    decided = {} if decided is None else decided
    known = [each for each in schedules if _may_owe(each, decided.get(each.name), now)]
    if not known:
        return 0
    last = _last_ticks([each.name for each in known], using=using)
    enqueued, failed = 0, 0
    for schedule in known:
        decided.pop(schedule.name, None)
        try:
            enqueued += _decide_one(schedule, last[schedule.name], now, using=using)
            decided[schedule.name] = now
        except Exception as raised:
            failed += 1
            log.warning("schedule %s failed: %s", schedule.name, broken_by(raised).code)
            if not connection(using).is_usable():
                raise
    if failed:
        raise PartlyFailed(f"{failed} of {len(known)} schedules failed")
    return enqueued


def owed(
    schedule: Schedule, last: datetime, now: datetime
) -> tuple[list[datetime], datetime | None]:
    """Which ticks of ``(last, now]`` become jobs, oldest first, and the newest that is passed over.

    The rule of ``schedule.missed``: SKIP takes the newest if it is not late, LATEST the newest, ALL the
    newest ``schedule.limit``.
    """
    most = schedule.limit if schedule.missed is Missed.ALL else 1
    due = newest_ticks(schedule.cron, schedule.timezone, after=last, until=now, most=most)
    if schedule.missed is Missed.SKIP and due and now - due[-1] > late_after():
        return [], due[-1]
    return due, None


def _may_owe(schedule: Schedule, since: datetime | None, now: datetime) -> bool:
    return since is None or owed(schedule, since, now) != ([], None)


def _last_ticks(names: list[str], *, using: str) -> dict[str, datetime | None]:
    with connection(using).cursor() as cursor:
        cursor.execute(
            """
            SELECT given.name, (
                SELECT tick.at FROM hubqueue_periodictick AS tick
                WHERE tick.schedule = given.name ORDER BY tick.at DESC LIMIT 1
            ) FROM unnest(%s::text[]) AS given (name)
            """,
            [names],
        )
        return dict(cursor.fetchall())


def _decide_one(schedule: Schedule, last: datetime | None, now: datetime, *, using: str) -> int:
    if last is None:
        with transaction.atomic(using=using):
            _record(schedule.name, now, using=using)
        return 0
    ticks, passed_over = owed(schedule, last, now)
    if not ticks and passed_over is None:
        return 0
    with transaction.atomic(using=using):
        wait_no_longer(PATIENCE, using=using)
        if passed_over is not None:
            _record(schedule.name, passed_over, using=using)
        fired = [tick for tick in ticks if _fire(schedule, tick, using=using)]
    for tick in fired:
        tick_fired.send_robust(
            sender=None,
            schedule=schedule.name,
            kind=schedule.handler.kind,
            queue=schedule.handler.queue,
            late=(now - tick).total_seconds(),
        )
    return len(fired)


def _fire(schedule: Schedule, tick: datetime, *, using: str) -> bool:
    """Record one tick and enqueue its job in the open transaction; False when it was decided before."""
    record = _record(schedule.name, tick, using=using)
    if record is None:
        return False
    meta = {"tick": tick.astimezone(UTC).isoformat()}
    job = schedule.handler.using(meta=meta).enqueue()
    _name_job(record, job.id, using=using)
    return True


def _record(schedule: str, tick: datetime, *, using: str) -> int | None:
    """Insert the record of a tick; None when somebody else decided it or a later one.

    That somebody may be the next leader, while this process was frozen between its look and its insert.
    """
    with connection(using).cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_periodictick (schedule, at)
            SELECT %(schedule)s, %(tick)s WHERE NOT EXISTS (
                SELECT FROM hubqueue_periodictick WHERE schedule = %(schedule)s AND at >= %(tick)s
            )
            ON CONFLICT (schedule, at) DO NOTHING RETURNING id
            """,
            {"schedule": schedule, "tick": tick},
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _name_job(record: int, job_id: UUID, *, using: str) -> None:
    with connection(using).cursor() as cursor:
        cursor.execute(
            "UPDATE hubqueue_periodictick SET job_id = %s WHERE id = %s", [job_id, record]
        )
