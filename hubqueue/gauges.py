"""What the queue looks like now, read when somebody scrapes: depths, ages, workers, leader, duties.

Every read is bounded, whatever the table's size: see ``CAP``.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper
from prometheus_client import REGISTRY, CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from hubqueue import metrics
from hubqueue.aside import Aside, Unreachable
from hubqueue.registry import registry

CAP = 10_000
LEVELS = 200
PATIENCE = timedelta(seconds=1.5)
KEEP = timedelta(seconds=5)

DUE, SCHEDULED, RUNNING, PARKED, DEAD = STATES = ("due", "scheduled", "running", "parked", "dead")

# One index descent per queue and priority in use, then at most CAP + 1 entries of each, oldest first.
READY_SQL = """
WITH RECURSIVE level (queue, priority, number) AS (
    (SELECT queue, priority, 1 FROM hubqueue_job
     WHERE state = 'READY' AND NOT suspect ORDER BY queue, priority LIMIT 1)
    UNION ALL
    SELECT following.queue, following.priority, level.number + 1
    FROM level, LATERAL (
        SELECT job.queue, job.priority FROM hubqueue_job AS job
        WHERE job.state = 'READY' AND NOT job.suspect
            AND (job.queue, job.priority) > (level.queue, level.priority)
        ORDER BY job.queue, job.priority LIMIT 1
    ) AS following
    WHERE level.number < %(levels)s
)
SELECT level.queue, waiting.kind, waiting.due, count(*),
    extract(epoch FROM hubqueue_now() - min(waiting.run_at))::float8,
    sum(count(*)) OVER (PARTITION BY level.queue, level.priority) > %(cap)s
FROM level, LATERAL (
    SELECT job.kind, job.run_at, job.run_at <= hubqueue_now() AS due FROM hubqueue_job AS job
    WHERE job.state = 'READY' AND NOT job.suspect
        AND job.queue = level.queue AND job.priority = level.priority
    ORDER BY job.run_at LIMIT %(cap)s + 1
) AS waiting
GROUP BY level.queue, level.priority, waiting.kind, waiting.due
"""
SUSPECT_SQL = """
SELECT queue, kind, run_at <= hubqueue_now(), count(*),
    extract(epoch FROM hubqueue_now() - min(run_at))::float8, false
FROM (SELECT queue, kind, run_at FROM hubqueue_job WHERE state = 'READY' AND suspect
      ORDER BY queue, run_at LIMIT %(cap)s) AS suspects
GROUP BY 1, 2, 3
"""
ELSEWHERE_SQL = """
SELECT 'running', kind, count(*) FROM (
    SELECT kind FROM hubqueue_job WHERE state = 'RUNNING' AND claimed_by IS NOT NULL
    ORDER BY claimed_by LIMIT %(cap)s) AS running GROUP BY kind
UNION ALL
SELECT 'parked', kind, count(*) FROM (
    SELECT kind FROM hubqueue_job WHERE state = 'PARKED' ORDER BY id DESC LIMIT %(cap)s) AS parked GROUP BY kind
UNION ALL
SELECT 'dead', kind, count(*) FROM (
    SELECT kind FROM hubqueue_job WHERE state = 'DEAD' ORDER BY id DESC LIMIT %(cap)s) AS dead GROUP BY kind
"""
# Who keeps vacuum from dead rows: a snapshot, a transaction that has written and idles, a prepared one.
SNAPSHOT_SQL = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - since)), 0)::float8 FROM (
    SELECT xact_start FROM pg_stat_activity
    WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
        AND pid <> pg_backend_pid() AND datname = current_database()
    UNION ALL
    SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()
) AS holder (since)
"""
ROUND_SQL = f"""
SELECT
    (SELECT count(*) FROM hubqueue_worker WHERE lease_until > hubqueue_now()),
    (SELECT extract(epoch FROM hubqueue_now() - ticked_at)::float8 FROM hubqueue_leader WHERE id = 1),
    ({SNAPSHOT_SQL}),
    (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = to_regclass('hubqueue_job_due')),
    (SELECT count(*) FROM hubqueue_pause WHERE until IS NULL OR until > hubqueue_now())
"""
DUTIES_SQL = """
SELECT name, extract(epoch FROM hubqueue_now() - ran_at)::float8,
    extract(epoch FROM hubqueue_now() - succeeded_at)::float8
FROM hubqueue_duty
"""


@dataclass(slots=True)
class Picture:
    """The queue at one moment. Ages are seconds; depths are exact up to ``CAP`` per queue and priority."""

    depth: Counter[tuple[str, str]] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    capped: set[str] = field(default_factory=set)
    oldest_due: dict[str, float] = field(default_factory=dict)
    ready_estimate: int = 0
    workers: int = 0
    pauses: int = 0
    tick_age: float | None = None
    snapshot_age: float = 0.0
    duty_ran: dict[str, float] = field(default_factory=dict)
    duty_succeeded: dict[str, float] = field(default_factory=dict)
    others: list[Metric] = field(default_factory=list)


Reading = Callable[[CursorWrapper], Iterable[Metric]]
_readings: dict[str, Reading] = {}


def register_reading(name: str, read: Reading) -> None:
    """Publish gauges of an application at each scrape, beside those of the queue. Registering a name again replaces it.

    ``read`` gets the cursor of the scrape: a read-only transaction that is ended after ``PATIENCE``, and follows
    indexes only. It must be quick and bounded. When the database refuses its statements, its gauges are absent.
    """
    _readings[name] = read


def take(cursor: CursorWrapper) -> Picture:
    """Read the picture in five bounded statements."""
    picture = Picture()
    for statement in (READY_SQL, SUSPECT_SQL):
        cursor.execute(statement, {"cap": CAP, "levels": LEVELS})
        for queue, kind, due, count, age, over in cursor.fetchall():
            _add_ready(picture, metrics.queue_label(queue), kind, due, count, age, over)
    cursor.execute(ELSEWHERE_SQL, {"cap": CAP})
    for state, kind, count in cursor.fetchall():
        picture.depth[metrics.kind_label(kind), state] += count
    cursor.execute(ROUND_SQL)
    row = cursor.fetchone()
    (
        picture.workers,
        picture.tick_age,
        picture.snapshot_age,
        estimate,
        picture.pauses,
    ) = row
    picture.ready_estimate = estimate or 0
    cursor.execute(DUTIES_SQL)
    for name, ran, succeeded in cursor.fetchall():
        picture.duty_ran[name] = ran
        if succeeded is not None:
            picture.duty_succeeded[name] = succeeded
    return picture


def scrape(cursor: CursorWrapper) -> Picture:
    """The picture with what applications registered. In a transaction."""
    picture = take(cursor)
    for read in _readings.values():
        picture.others += _others(cursor, read)
    return picture


def _others(cursor: CursorWrapper, read: Reading) -> list[Metric]:
    cursor.execute("SAVEPOINT reading")
    try:
        return list(read(cursor))
    except DatabaseError:
        cursor.execute("ROLLBACK TO SAVEPOINT reading")
        return []


def _add_ready(
    picture: Picture, queue: str, kind: str, due: bool, count: int, age: float, over: bool
) -> None:
    picture.depth[metrics.kind_label(kind), DUE if due else SCHEDULED] += count
    if due:
        picture.waiting[queue] += count
        picture.oldest_due[queue] = max(age, picture.oldest_due.get(queue, 0.0))
    if over:
        picture.capped.add(queue)


current = Aside(scrape, patience=PATIENCE, keep=KEEP)


class GaugeCollector(Collector):
    """Turns the picture into gauges. Without a database it still answers: ``hubqueue_database_up 0``."""

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("hubqueue_database_up", "1 when the gauges could be read.")
        try:
            picture = current.answer()
        except Unreachable:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from _families(picture)
        yield from picture.others


def _families(picture: Picture) -> Iterator[Metric]:
    depth = GaugeMetricFamily(
        "hubqueue_depth",
        f"Jobs per kind and state, counted up to {CAP} per queue and priority (see hubqueue_depth_capped).",
        labels=["kind", "state"],
    )
    for kind in (*sorted(registry.handlers), metrics.UNKNOWN):
        for state in STATES:
            depth.add_metric([kind, state], picture.depth[kind, state])
    yield depth
    yield from _per_queue(picture)
    for name, text, value in (
        (
            "ready_estimate",
            "READY jobs by the planner's statistics: an estimate.",
            picture.ready_estimate,
        ),
        ("workers_alive", "Worker children whose lease has not passed.", picture.workers),
        ("pauses", "Pauses in force.", picture.pauses),
        (
            "leader_tick_age_seconds",
            "Seconds since the leading scheduler's last tick.",
            picture.tick_age,
        ),
        (
            "oldest_snapshot_age_seconds",
            "Age of the oldest transaction that keeps vacuum from removing dead rows.",
            picture.snapshot_age,
        ),
    ):
        if value is not None:
            yield GaugeMetricFamily(f"hubqueue_{name}", text, value=value)
    for name, text, ages in (
        ("ran", "Seconds since a duty of the scheduler last ran.", picture.duty_ran),
        (
            "success",
            "Seconds since a duty of the scheduler last succeeded.",
            picture.duty_succeeded,
        ),
    ):
        family = GaugeMetricFamily(f"hubqueue_duty_{name}_age_seconds", text, labels=["duty"])
        for duty, age in sorted(ages.items()):
            family.add_metric([duty], age)
        yield family


def _per_queue(picture: Picture) -> Iterator[Metric]:
    from_settings = metrics.known_queues()
    due = GaugeMetricFamily(
        "hubqueue_queue_due", f"Due jobs per queue, up to {CAP} per priority.", labels=["queue"]
    )
    oldest = GaugeMetricFamily(
        "hubqueue_oldest_due_age_seconds",
        "How long the oldest due job has been waiting.",
        labels=["queue"],
    )
    capped = GaugeMetricFamily(
        "hubqueue_depth_capped",
        "1 when the queue holds more jobs than were counted.",
        labels=["queue"],
    )
    for queue in (*from_settings, metrics.UNKNOWN):
        due.add_metric([queue], picture.waiting[queue])
        oldest.add_metric([queue], picture.oldest_due.get(queue, 0.0))
        capped.add_metric([queue], queue in picture.capped)
    yield from (due, oldest, capped)


def collectors() -> CollectorRegistry:
    """What a scrape collects: counters of this process or, in multiprocess mode, of all, and the gauges."""
    found = CollectorRegistry()
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        MultiProcessCollector(found)  # type: ignore[no-untyped-call]
    else:
        found.register(_Process())
    found.register(GaugeCollector())
    return found


class _Process(Collector):
    """The counters of this process, out of prometheus_client's own registry."""

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        return iter(REGISTRY.collect())


def exposition(accept: str = "") -> tuple[bytes, str]:
    """The answer to a scrape and its content type. Takes less than 2 seconds, database or not."""
    encode, content_type = choose_encoder(accept)
    return encode(collectors()), content_type
