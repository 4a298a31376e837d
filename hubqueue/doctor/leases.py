"""Jobs held by workers that are gone, which somebody should have taken back by now."""

from collections.abc import Iterator
from datetime import timedelta

from hubqueue.doctor.finding import Finding, error, span
from hubqueue.doctor.patient import Patient
from hubqueue.lifecycle.database import interval

SLACK = timedelta(seconds=30)
CAP = 10_000

HELD = """
SELECT count(*), max(extract(epoch FROM hubqueue_now() - coalesce(worker.lease_until, held.claimed_at)))::float8,
    (SELECT count(*) FROM hubqueue_worker WHERE lease_until > hubqueue_now())
FROM (
    SELECT claimed_by, claimed_at FROM hubqueue_job WHERE state = 'RUNNING' AND claimed_by IS NOT NULL
    ORDER BY claimed_by LIMIT %(cap)s
) AS held
LEFT JOIN hubqueue_worker AS worker ON worker.id = held.claimed_by
WHERE coalesce(worker.lease_until, held.claimed_at) < hubqueue_now() - %(slack)s::interval
"""


def look(patient: Patient) -> Iterator[Finding]:
    """A living worker takes them back within a few rounds; whoever is not back then is stuck."""
    slack = SLACK + patient.conf.rescue_every * 3
    with patient.django() as cursor:
        cursor.execute(HELD, {"cap": CAP, "slack": interval(slack)})
        number, oldest, alive = cursor.fetchone()
    if number:
        advice = (
            "look for who holds the rows' locks (docs/runbooks.md: A job is stuck RUNNING), and into the workers' logs"
            if alive
            else "start a worker: it takes them back"
        )
        yield error(
            "not_rescued",
            expected=f"jobs of dead workers to be taken back within {span(slack)}",
            found=f"{'at least ' if number == CAP else ''}{number:,} held by workers that are gone, for up to"
            f" {span(oldest)}",
            advice=advice,
        )
