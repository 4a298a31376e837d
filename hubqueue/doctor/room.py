"""Whether one more worker finds the connections that it needs."""

from collections.abc import Iterator

from hubqueue.direct import is_pooled
from hubqueue.doctor.finding import Finding, error, warning, well
from hubqueue.doctor.origin import identifier
from hubqueue.doctor.patient import Patient

# Threads hold one each, and so do a child's loop, the claim beside it, its payer and its LISTEN; then supervisor,
# sweeps, scheduler and its leader.
PER_CHILD, PER_WORKER, SCHEDULERS = 4, 6, 3
FEW = 3

# A bound and what of it is taken. Sessions are counted by what every role may see.
BOUNDS = """
SELECT 'max_connections', current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
    (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL)
UNION ALL
SELECT 'role', rolconnlimit,
    (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid = pg_roles.oid)
FROM pg_roles WHERE rolname = session_user AND rolconnlimit >= 0 AND NOT rolsuper
UNION ALL
SELECT 'database', datconnlimit,
    (SELECT count(*) FROM pg_stat_activity WHERE datid = pg_database.oid)
FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0
"""


def connections_of(patient: Patient, *, pooled: bool) -> int:
    """How many connections a worker holds at most, suspects aside; behind a pooler those that go past it."""
    if pooled:
        return patient.processes + SCHEDULERS
    child = patient.threads + PER_CHILD + patient.async_connections
    return patient.processes * child + PER_WORKER


def look(patient: Patient) -> Iterator[Finding]:
    """Compare what is free with what ``--processes`` and ``--threads`` need."""
    worker = f"--processes {patient.processes} --threads {patient.threads}"
    with patient.wrapper() as made, made.cursor() as cursor:
        pooled = is_pooled(made.connection)
        cursor.execute("SELECT session_user, current_database()")
        user, database = map(identifier, cursor.fetchone())
        cursor.execute(BOUNDS)
        bounds = cursor.fetchall()
    need = connections_of(patient, pooled=pooled)
    raising = {
        "max_connections": "raise max_connections (needs a restart)",
        "role": f"ALTER ROLE {user} CONNECTION LIMIT",
        "database": f"ALTER DATABASE {database} CONNECTION LIMIT",
    }
    least = None
    for bound, limit, taken in bounds:
        free = max(0, limit - taken + 1)  # the doctor's own session ends
        least = free if least is None else min(least, free)
        if free < need:
            say = error if free <= FEW else warning
            yield say(
                "connections",
                expected=f"{need} free connections for one more worker ({worker})",
                found=f"{free} free of {limit} ({'connection limit of the ' if bound != 'max_connections' else ''}"
                f"{bound}): a worker that starts or is restarted may not connect and waits",
                advice=f"lower --threads or the web's workers, or {raising[bound]}",
            )
    if least is not None and least >= need:
        yield well("connections", f"{least} free, one more worker ({worker}) needs {need}")
