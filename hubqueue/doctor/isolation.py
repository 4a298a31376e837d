"""Whether transactions run at READ COMMITTED, which every statement of the engine is written for."""

from collections.abc import Iterator

from hubqueue.doctor.finding import Finding, error
from hubqueue.doctor.origin import read
from hubqueue.doctor.patient import Patient

SETTING = "default_transaction_isolation"
WANTED = "read committed"


def look(patient: Patient) -> Iterator[Finding]:
    """Open a transaction as Django does, and ask."""
    with patient.wrapper() as made:
        made.ensure_connection()
        made.set_autocommit(False)
        with made.cursor() as cursor:
            cursor.execute("SELECT current_setting('transaction_isolation')")
            (level,) = cursor.fetchone()
            origin = read(cursor, [SETTING])[SETTING]
        made.rollback()
    if level == WANTED:
        return
    if origin.value == level:
        by, remedy = origin.by, origin.remedy
    else:
        by, remedy = (
            "from isolation_level in OPTIONS of DATABASES",
            "take isolation_level out of OPTIONS",
        )
    yield error(
        "isolation",
        expected=f"transactions at {WANTED}",
        found=f"{level} ({by}): two writers of one row fail with 40001, so requests with a dedupe key are refused"
        " and attempts fail",
        advice=f"{remedy}, then restart web and workers",
    )
