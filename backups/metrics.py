"""What the backups app counts, for Prometheus, and what it reads from its rows at the scrape.

Labels are states, codes and the names of targets, which are few.
"""

from collections.abc import Iterator
from typing import Any

from django.db.backends.utils import CursorWrapper
from django.dispatch import receiver
from prometheus_client import Counter, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily

from backups.signals import (
    archive_expired,
    archive_verified,
    archives_swept,
    deletion_failed,
    expiry_failed,
    restore_ended,
    run_ended,
)
from hubqueue.gauges import register_reading

MOST_TARGETS = 200
LAST_SUCCESS_SQL = """
SELECT target.name, extract(epoch FROM last.finished_at)::float8
FROM backups_backuptarget AS target, LATERAL (
    SELECT run.finished_at FROM backups_backuprun AS run
    WHERE run.target_id = target.id AND run.state IN ('SUCCEEDED', 'EXPIRED')
    ORDER BY run.started_at DESC LIMIT 1
) AS last
LIMIT %(most)s
"""

MINUTE, MIB = 60, 1024 * 1024
RUN_SECONDS = Histogram(
    "backups_run_seconds",
    "Runs that ended, from the request to the end.",
    ["state"],
    buckets=[each * MINUTE for each in (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 1440)],
)
RUN_BYTES = Histogram(
    "backups_run_bytes",
    "Bytes of archives that were written.",
    buckets=[each * MIB for each in (1, 10, 100, 1024, 10_240, 102_400, 1_048_576)],
)
FILES_MISSING = Counter(
    "backups_files_missing", "Files that rows name and that were not there to be taken by a run."
)
RESTORE_SECONDS = Histogram(
    "backups_restore_seconds",
    "Restores of one tenant, and looks, that ended, from the request to the end.",
    ["mode", "state"],
    buckets=[each * MINUTE for each in (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 1440)],
)
VERIFIED = Counter("backups_verifications", "Archives that were read back.", ["outcome"])
EXPIRED = Counter("backups_archives_expired", "Archives that were deleted by a schedule's plan.")
SWEPT = Counter("backups_archives_swept", "Unfinished archives that were deleted.")
FAILED = Counter("backups_deletions_failed", "Deletions that failed.", ["code"])


@receiver(run_ended, dispatch_uid="backups.metrics.run")
def count_run(
    *, state: str, seconds: float, stored: int | None, missing: int | None, **_: Any
) -> None:
    RUN_SECONDS.labels(state).observe(seconds)
    FILES_MISSING.inc(missing or 0)
    if stored is not None:
        RUN_BYTES.observe(stored)


@receiver(restore_ended, dispatch_uid="backups.metrics.restore")
def count_restore(*, mode: str, state: str, seconds: float, **_: Any) -> None:
    RESTORE_SECONDS.labels(mode, state).observe(seconds)


@receiver(archive_verified, dispatch_uid="backups.metrics.verified")
def count_verified(*, sound: bool, **_: Any) -> None:
    VERIFIED.labels("sound" if sound else "unsound").inc()


@receiver(archive_expired, dispatch_uid="backups.metrics.expired")
def count_expired(**_: Any) -> None:
    EXPIRED.inc()


@receiver(archives_swept, dispatch_uid="backups.metrics.swept")
def count_swept(*, count: int, **_: Any) -> None:
    SWEPT.inc(count)


@receiver([deletion_failed, expiry_failed], dispatch_uid="backups.metrics.failed")
def count_failed(*, code: str, **_: Any) -> None:
    FAILED.labels(code).inc()


def last_successes(cursor: CursorWrapper) -> Iterator[Metric]:
    """When the newest run that worked ended, at each target; nothing for a target that never had one."""
    cursor.execute(LAST_SUCCESS_SQL, {"most": MOST_TARGETS})
    family = GaugeMetricFamily(
        "backup_last_success_timestamp_seconds",
        "When the last backup that worked ended, in seconds since 1970; absent when there never was one.",
        labels=["target"],
    )
    for name, ended in cursor.fetchall():
        family.add_metric([name], ended)
    yield family


register_reading("backups.last_success", last_successes)
