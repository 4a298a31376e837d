"""The clocks: this machine's beside the database's, and whether somebody moved the queue's."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from hubqueue.doctor.finding import Finding, error, span, warning, well
from hubqueue.doctor.patient import Patient

TOLERATED = timedelta(seconds=5)
OFFSET = "hubqueue.clock_offset"


def look(patient: Patient) -> Iterator[Finding]:
    """Read the database's clock between two readings of our own."""
    with patient.django() as cursor:
        before = patient.clock()
        cursor.execute(
            "SELECT clock_timestamp(), coalesce(nullif(current_setting(%s, true), ''), '0')::interval",
            [OFFSET],
        )
        theirs, moved = cursor.fetchone()
        after = patient.clock()
    if moved:
        yield error(
            "clock_moved",
            expected=f"no {OFFSET}, which is for tests",
            found=f"the queue's clock {span(abs(moved))} {'ahead' if moved > timedelta(0) else 'behind'}"
            ": jobs start at the wrong moment and leases are judged wrongly",
            advice=f"take {OFFSET} out of PGOPTIONS, or RESET it with ALTER ROLE or ALTER DATABASE",
        )
    skew = _skew(before, theirs, after)
    if abs(skew) > TOLERATED:
        yield warning(
            "clock_skew",
            expected=f"this machine's clock within {span(TOLERATED)} of the database's",
            found=f"it is {span(abs(skew))} {'ahead' if skew > timedelta(0) else 'behind'}: the queue is not harmed,"
            " only the database's clock decides, but times in logs do not fit together",
            advice="repair the time service (chrony, systemd-timesyncd) on the machine that is wrong",
        )
    else:
        yield well("clock", f"this machine's clock is {span(abs(skew))} off the database's")


def _skew(before: datetime, theirs: datetime, after: datetime) -> timedelta:
    """How far ahead of theirs ours is for certain: a slow answer is no skew."""
    if theirs < before:
        return before - theirs
    if theirs > after:
        return after - theirs
    return timedelta(0)
