"""Who keeps vacuum from removing dead rows, or holds locks in a transaction that was left open."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from hubqueue.doctor.finding import Finding, span, warning
from hubqueue.doctor.patient import Patient
from hubqueue.lifecycle.database import interval

OLD = timedelta(minutes=10)
PREPARED = timedelta(minutes=5)
MANY = 100_000  # transactions behind, where no age can be seen
KEPT = 10 * 2**30

# Never pg_stat_activity.query: it quotes rows. For sessions that may not be seen the state is NULL; how far behind
# their snapshot is can be seen all the same.
SESSIONS = """
SELECT pid, coalesce(application_name, ''), coalesce(state, backend_type, ''),
    extract(epoch FROM clock_timestamp() - xact_start)::float8,
    coalesce(greatest(age(backend_xmin), age(backend_xid)), 0),
    backend_xmin IS NOT NULL OR backend_xid IS NOT NULL
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
    AND (xact_start IS NOT NULL OR backend_xmin IS NOT NULL) AND coalesce(backend_type, '') NOT IN (
        'autovacuum worker', 'autovacuum launcher', 'logical replication launcher')
    AND (clock_timestamp() - xact_start > %(old)s::interval
        OR xact_start IS NULL AND greatest(age(backend_xmin), age(backend_xid)) > %(many)s)
ORDER BY xact_start NULLS LAST LIMIT 3
"""
PREPARED_SQL = """
SELECT gid, owner::text, extract(epoch FROM clock_timestamp() - prepared)::float8 FROM pg_prepared_xacts
WHERE database = current_database() AND clock_timestamp() - prepared > %(old)s::interval
ORDER BY prepared LIMIT 3
"""
SLOTS = """
SELECT slot_name, active, coalesce(greatest(age(xmin), age(catalog_xmin)), 0),
    CASE WHEN restart_lsn IS NULL OR pg_is_in_recovery() THEN 0
        ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) END::bigint
FROM pg_replication_slots
"""


def look(patient: Patient) -> Iterator[Finding]:
    """The oldest three of each sort."""
    with patient.django() as cursor:
        cursor.execute(SESSIONS, {"old": interval(OLD), "many": MANY})
        sessions = cursor.fetchall()
        cursor.execute(PREPARED_SQL, {"old": interval(PREPARED)})
        prepared = cursor.fetchall()
        cursor.execute(SLOTS)
        slots = cursor.fetchall()
    for session in sessions:
        yield _session(*session)
    for gid, owner, age in prepared:
        yield warning(
            "prepared_transaction",
            expected=f"prepared transactions to end within {span(PREPARED)}",
            found=f"{gid} of {owner}, {span(age)} old: it keeps its locks, and vacuum from removing dead rows",
            advice="COMMIT PREPARED or ROLLBACK PREPARED it, in this database",
        )
    yield from _slots(slots)


def _session(
    pid: int, application: str, state: str, age: float | None, behind: int, holds: bool
) -> Finding:
    old = (
        f"{span(age)} old"
        if age is not None
        else f"{behind:,} transactions old (its age is hidden)"
    )
    harm = (
        "vacuum may not remove rows that died since, tables and indexes grow"
        if holds
        else "it may hold locks that others wait for"
    )
    return warning(
        "old_transaction",
        expected=f"no transaction older than {span(OLD)}",
        found=f"pid {pid} {application or 'without application_name'} ({state or 'state hidden'}), {old}: {harm}",
        advice=f"find out what it is; if nobody needs it, SELECT pg_terminate_backend({pid})",
    )


def _slots(slots: list[Any]) -> Iterator[Finding]:
    for name, active, behind, kept in slots:
        if behind > MANY or (kept > KEPT and not active):
            yield warning(
                "replication_slot",
                expected="replication slots whose reader keeps up",
                found=f"{name} ({'active' if active else 'nobody reads it'}), {behind:,} transactions behind,"
                f" {kept / 2**20:,.0f} MiB of write-ahead log kept: vacuum or the disk suffer",
                advice=f"repair its reader; if nobody needs it, SELECT pg_drop_replication_slot('{name}')",
            )
