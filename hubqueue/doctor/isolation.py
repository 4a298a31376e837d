"""Whether transactions run at READ COMMITTED, which every statement of the engine is written for.

Workers set their own isolation on every session. Whoever enqueues has the one that is found here.
"""

from collections.abc import Iterator

from hubqueue.doctor.finding import Finding, warning
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
    yield warning(
        "isolation",
        expected=f"transactions at {WANTED}",
        found=f"{level} ({by}): requests with a dedupe key that meet another fail with 40001 where they are made;"
        " workers set their own and are not concerned",
        advice=f"{remedy}, then restart the web; or try such transactions again there",
    )
