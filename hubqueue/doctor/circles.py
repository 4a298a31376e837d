"""Jobs that go round: handed back unspent again and again, so that they never end."""

from collections.abc import Iterator
from datetime import timedelta

from hubqueue.doctor.finding import Finding, error, names, span
from hubqueue.doctor.patient import Patient
from hubqueue.lifecycle.database import interval

LOOK_BACK = timedelta(minutes=15)
ROUNDS = 8
CAP = 10_000

AGAIN = """
SELECT job.kind, again.code, count(*), max(again.rounds) FROM (
    SELECT recent.job_id, recent.code, count(*) AS rounds FROM (
        SELECT job_id, code, spent FROM hubqueue_failure
        WHERE failed_at > hubqueue_now() - %(look_back)s::interval ORDER BY failed_at DESC LIMIT %(cap)s
    ) AS recent
    WHERE NOT recent.spent GROUP BY recent.job_id, recent.code HAVING count(*) >= %(rounds)s
) AS again JOIN hubqueue_job AS job ON job.id = again.job_id
WHERE job.state IN ('READY', 'RUNNING') GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 100
"""
WHY = {
    "connection_lost": "their session is ended while they run: see the timeouts above, a pooler, or the network",
    "row_busy": "somebody keeps their rows locked: see old transactions",
}


def look(patient: Patient) -> Iterator[Finding]:
    """By the history of attempts, which keeps the last 20 of a job."""
    with patient.django() as cursor:
        cursor.execute(AGAIN, {"look_back": interval(LOOK_BACK), "cap": CAP, "rounds": ROUNDS})
        rows = cursor.fetchall()
    if rows:
        code = rows[0][1]
        yield error(
            "going_round",
            expected=f"jobs that end, not {ROUNDS} attempts handed back within {span(LOOK_BACK)}",
            found=names([f"{number} of {kind} ({code})" for kind, code, number, _ in rows]),
            advice=WHY.get(code, "open one of them in the admin and look at its attempts"),
        )
