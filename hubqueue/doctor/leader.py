"""Whether a scheduler leads, ticks, and does its duties."""

from collections.abc import Iterator

from hubqueue.doctor.finding import Finding, error, names, span, warning, well
from hubqueue.doctor.patient import Patient
from hubqueue.scheduler.leadership import lock_key

HOLDER = """
SELECT session.pid, coalesce(host(session.client_addr), 'this machine or hidden')
FROM pg_locks JOIN pg_stat_activity AS session USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32 | objid::bigint) = %s
"""
TICKED = """
SELECT extract(epoch FROM hubqueue_now() - ticked_at)::float8, host, pid FROM hubqueue_leader WHERE id = 1
"""
FAILING = (
    "SELECT name, error_code FROM hubqueue_duty WHERE error_code <> '' ORDER BY name LIMIT 100"
)
ALIVE = "SELECT count(*) FROM hubqueue_worker WHERE lease_until > hubqueue_now()"


def look(patient: Patient) -> Iterator[Finding]:
    """The lock tells who leads, the row when it last ticked."""
    with patient.django() as cursor:
        cursor.execute(HOLDER, [lock_key()])
        holder = cursor.fetchone()
        cursor.execute(TICKED)
        age, host, pid = cursor.fetchone() or (None, "", 0)
        cursor.execute(FAILING)
        failing = [f"{name} ({code})" for name, code in cursor.fetchall()]
        cursor.execute(ALIVE)
        (alive,) = cursor.fetchone()
    slowest = patient.conf.tick.total_seconds() * 6
    if holder is None and alive:
        yield error(
            "no_leader",
            expected="a scheduler that leads",
            found="none: no periodic jobs, no purge; its last tick "
            + (f"was {span(max(age, 0.0))} ago" if age is not None else "never came"),
            advice="start a worker without --no-scheduler; behind a pooler set HUBQUEUE_DIRECT_URL",
        )
    elif holder is not None and (age is None or age > slowest):
        yield error(
            "leader_silent",
            expected=f"a tick of the leading scheduler every {span(patient.conf.tick)}",
            found=f"session {holder[0]} ({holder[1]}) leads, and "
            + (f"the last tick was {span(age)} ago" if age is not None else "no tick came yet"),
            advice="look into that scheduler's log, and restart its worker",
        )
    elif holder is not None:
        yield well("leader", f"{host}:{pid} leads and ticked {span(max(age or 0.0, 0.0))} ago")
    if failing:
        yield warning(
            "duty_fails",
            expected="duties of the scheduler that succeed",
            found=names(failing),
            advice="look for 'duty failed' in the leader's log",
        )
