"""What officers paused."""

from collections.abc import Iterator

from hubqueue.doctor.finding import Finding, names, span, warning
from hubqueue.doctor.patient import Patient

PAUSES = """
SELECT scope, value, paused_by, extract(epoch FROM hubqueue_now() - paused_at)::float8,
    extract(epoch FROM until - hubqueue_now())::float8
FROM hubqueue_pause WHERE until IS NULL OR until > hubqueue_now() ORDER BY paused_at LIMIT 100
"""


def look(patient: Patient) -> Iterator[Finding]:
    """Every pause in force, in one line."""
    with patient.django() as cursor:
        cursor.execute(PAUSES)
        rows = cursor.fetchall()
    if rows:
        yield warning(
            "paused",
            expected="nothing paused",
            found=names([_said(*row) for row in rows]),
            advice="resume when the reason is over: manage.py hubqueue resume",
        )


def _said(scope: str, value: str, by: str, age: float, left: float | None) -> str:
    end = "without an end" if left is None else f"for {span(left)} more"
    return f"{scope} {value} by {by} {span(max(age, 0.0))} ago {end}"
