"""Whether a bell that Django rings is heard on the direct way."""

from collections.abc import Iterator
from uuid import uuid4

from psycopg import sql

from hubqueue.direct import is_pooled
from hubqueue.doctor.finding import Finding, error, warning, well
from hubqueue.doctor.patient import Patient
from hubqueue.lifecycle.ring import CHANNEL

WITHIN = 2.0
TOO_FULL = 0.1


def look(patient: Patient) -> Iterator[Finding]:
    """Ring a bell that nobody else listens to, and wait for it."""
    with patient.direct() as session, patient.wrapper() as made, made.cursor() as cursor:
        if is_pooled(session):
            return  # the pooler's probe says what that costs
        channel = f"{CHANNEL}doctor:{uuid4()}"
        session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        cursor.execute("SELECT pg_notify(%s, '')", [channel])
        heard = any(
            note.channel == channel for note in session.notifies(timeout=WITHIN, stop_after=1)
        )
        cursor.execute("SELECT pg_notification_queue_usage()")
        (usage,) = cursor.fetchone()
    if not heard:
        yield error(
            "bell_not_heard",
            expected=f"a bell rung over DATABASES[{patient.using!r}] to be heard on the direct way"
            f" within {WITHIN:g} s",
            found="silence: the two lead to different databases, or the server is stuck",
            advice="point HUBQUEUE['DIRECT_URL'] and DATABASES at the same host and database name",
        )
    if usage > TOO_FULL:
        yield warning(
            "bells_pile_up",
            expected="a notification queue that is nearly empty",
            found=f"{usage:.0%} full: a session that listens is inside a long transaction; when it is full,"
            " every enqueue fails at its commit",
            advice="end that session: SELECT pid, xact_start FROM pg_stat_activity ORDER BY xact_start",
        )
    if heard:
        yield well("listening", "a bell was heard on the direct way")
