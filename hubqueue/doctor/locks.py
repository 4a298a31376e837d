"""Who holds up whom: sessions that wait for a lock, and the session at the root of it."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.backends.utils import CursorWrapper

from hubqueue.doctor.finding import Finding, span, warning
from hubqueue.doctor.patient import Patient
from hubqueue.lifecycle.database import interval

PATIENCE = timedelta(seconds=5)

# pg_blocking_pids stops the server's lock table for a moment, so only for the ones that wait longest.
WAITING = """
SELECT waiting.pid, waiting.seconds, pg_blocking_pids(waiting.pid) FROM (
    SELECT pid, extract(epoch FROM clock_timestamp() - min(waitstart))::float8 AS seconds FROM pg_locks
    WHERE NOT granted AND clock_timestamp() - waitstart > %(patience)s::interval
        AND (database IS NULL OR database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    GROUP BY pid ORDER BY seconds DESC LIMIT 20
) AS waiting
"""
SHUT = """
SELECT held.pid, string_agg(class.relname, ', ' ORDER BY class.relname) FROM pg_locks AS held
JOIN pg_class AS class ON class.oid = held.relation
WHERE held.granted AND held.mode = 'AccessExclusiveLock' AND class.relkind = 'r'
    AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND class.relname LIKE 'hubqueue\\_%%' AND pg_table_is_visible(class.oid)
GROUP BY held.pid LIMIT 3
"""
BLOCKER = """
SELECT coalesce(application_name, ''), coalesce(state, 'state hidden'),
    extract(epoch FROM clock_timestamp() - xact_start)::float8
FROM pg_stat_activity WHERE pid = %s
"""


def look(patient: Patient) -> Iterator[Finding]:
    """Tables that somebody shut; and each session that waits for nobody and is waited for, the three worst."""
    with patient.django() as cursor:
        cursor.execute(WAITING, {"patience": interval(PATIENCE)})
        rows = cursor.fetchall()
        waiting = {pid for pid, _, _ in rows}
        held_up: dict[int, list[float]] = {}
        for _, seconds, blockers in rows:
            for blocker in set(blockers) - waiting:
                held_up.setdefault(blocker, []).append(seconds)
        cursor.execute(SHUT, [])
        shut = cursor.fetchall()
        worst = sorted(held_up.items(), key=lambda item: max(item[1]), reverse=True)[:3]
        known = {pid: _who(cursor, pid) for pid in {pid for pid, _ in [*worst, *shut]}}
    for pid, tables in shut:
        yield warning(
            "table_locked",
            expected="no lock that shuts a table of the queue",
            found=f"{known[pid]} has shut {tables}: nothing else reads or writes there until it ends",
            advice=f"let a migration finish; anything else: SELECT pg_terminate_backend({pid})",
        )
    for pid, seconds in worst:
        yield warning(
            "blocked",
            expected=f"no lock that others wait for longer than {span(PATIENCE)}",
            found=f"{known[pid]} holds up {len(seconds)} of the longest waiting sessions,"
            f" for up to {span(max(seconds))}",
            advice=f"end that transaction, or SELECT pg_terminate_backend({pid})",
        )


def _who(cursor: CursorWrapper, pid: int) -> str:
    cursor.execute(BLOCKER, [pid])
    row = cursor.fetchone()
    if row is None:
        return "a prepared transaction"
    application, state, age = row
    since = f", in a transaction for {span(age)}" if age is not None else ""
    return f"pid {pid} {application or 'without application_name'} ({state}{since})"
