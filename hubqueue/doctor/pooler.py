"""Whether a pooler sits between, how it pools as far as can be seen, and what then does not work."""

from collections.abc import Iterator
from typing import Any

from django.db import Error

from hubqueue.direct import is_pooled
from hubqueue.doctor.finding import Finding, error, well
from hubqueue.doctor.patient import Patient, sqlstate

SESSION, TRANSACTION, STATEMENT, UNKNOWN = "session", "transaction", "statement", "unknown"
TRIES = 3


def look(patient: Patient) -> Iterator[Finding]:
    """Both ways: the one Django takes may be pooled, the direct one may not."""
    pooled = _is_django_pooled(patient)
    mode = _mode(patient) if pooled else ""
    if pooled:
        yield from _asked_too_much(patient, mode)
    if not pooled and not patient.has_direct_url:
        yield well("pooler", "no pooler between Django and PostgreSQL")
        return
    with patient.direct() as session:
        direct_pooled = is_pooled(session)
    if direct_pooled and patient.has_direct_url:
        yield error(
            "direct_url_pooled",
            expected="HUBQUEUE['DIRECT_URL'] to lead past every pooler",
            found="a pooler there too: workers poll instead of listening, and no scheduler leads",
            advice="set HUBQUEUE_DIRECT_URL to PostgreSQL's own host and port",
        )
    elif direct_pooled:
        yield error(
            "direct_url_missing",
            expected="HUBQUEUE['DIRECT_URL'], because a pooler is in between",
            found=f"none, and a pooler in {mode} mode: workers poll instead of listening, and no scheduler leads"
            " (no periodic jobs, no purge)",
            advice="set HUBQUEUE_DIRECT_URL to PostgreSQL's own host and port",
        )
    elif pooled:
        yield well("pooler", f"a pooler in {mode} mode; DIRECT_URL leads past it")
    else:
        yield well("pooler", "no pooler on either way")


def _is_django_pooled(patient: Patient) -> bool:
    with patient.wrapper() as made:
        made.ensure_connection()
        return is_pooled(made.connection)


def _mode(patient: Patient) -> str:
    """Two connections of ours: where one gets the server connection of the other, which still is there, the pooler
    gives them out per transaction."""
    with patient.wrapper() as one, patient.wrapper() as other:
        for _ in range(TRIES):
            before = _backend(one)
            try:
                with other.cursor() as cursor:
                    cursor.execute("BEGIN")
                    taken = _backend(other)
                    after = _backend(one)
                    cursor.execute("ROLLBACK")
            except Error as raised:
                return STATEMENT if sqlstate(raised) == "08P01" else UNKNOWN
            if taken == before or after != before:
                return TRANSACTION
    return SESSION


def _backend(wrapper: Any) -> int:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def _asked_too_much(patient: Patient, mode: str) -> Iterator[Finding]:
    """What stays behind on a server connection that belongs to somebody else a moment later."""
    if mode == SESSION:
        return
    if mode == STATEMENT:
        yield error(
            "pooler_mode",
            expected="a pooler in transaction or session mode",
            found="statement mode: no transaction can be opened",
            advice="set pool_mode = transaction in pgbouncer.ini",
        )
    if patient.settings["OPTIONS"].get("prepare_threshold") is not None:
        yield error(
            "pooler_prepares",
            expected="no prepared statements behind a pooler in transaction mode",
            found="prepare_threshold in OPTIONS of DATABASES: statements fail at random",
            advice="set it to None, or add ?pgbouncer=transaction to DATABASE_URL",
        )
    if not patient.settings.get("DISABLE_SERVER_SIDE_CURSORS"):
        yield error(
            "pooler_cursors",
            expected="DISABLE_SERVER_SIDE_CURSORS = True behind a pooler in transaction mode",
            found="server-side cursors: reads in pages fail, those of the rescue among them",
            advice="set it in DATABASES, or add ?pgbouncer=transaction to DATABASE_URL",
        )
