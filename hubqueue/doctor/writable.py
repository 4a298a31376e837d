"""Whether the server takes writes, on both ways."""

from collections.abc import Iterator

from hubqueue.direct import Raw
from hubqueue.doctor.finding import Finding, error
from hubqueue.doctor.origin import read
from hubqueue.doctor.patient import Patient

SETTING = "default_transaction_read_only"


def look(patient: Patient) -> Iterator[Finding]:
    """Ask each way whether it ends at a standby or opens transactions that only read."""
    with patient.wrapper() as made:
        made.ensure_connection()
        found = _ask(made.connection, f"DATABASES[{patient.using!r}]")
    if found is not None:
        yield found
    if patient.has_direct_url:
        with patient.direct() as session:
            found = _ask(session, "HUBQUEUE['DIRECT_URL']")
        if found is not None:
            yield found


def _ask(session: Raw, way: str) -> Finding | None:
    row = session.execute(
        "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')"
    ).fetchone()
    assert row is not None
    standby, read_only = row
    expected = f"a server that takes writes behind {way}"
    if standby:
        return error(
            "standby",
            expected=expected,
            found="a standby: nothing can be enqueued, claimed or settled there",
            advice="name the primary, or all hosts with target_session_attrs=read-write, or promote it",
        )
    if read_only == "on":
        origin = read(session, [SETTING])[SETTING]
        return error(
            "read_only",
            expected=expected,
            found=f"transactions that only read ({SETTING} is {origin.value}, {origin.by})",
            advice=origin.remedy,
        )
    return None
