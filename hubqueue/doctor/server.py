"""Settings of the server on which promises of the queue rest."""

from collections.abc import Iterator

from django.db import Error

from hubqueue.doctor.finding import Finding, Severity, warning
from hubqueue.doctor.origin import read
from hubqueue.doctor.patient import Patient

# (setting, what is expected, how grave, what it costs)
WANTED = (
    ("fsync", "on", Severity.ERROR, "a crash of the machine may destroy the database"),
    ("full_page_writes", "on", Severity.ERROR, "a crash of the machine may destroy pages"),
    ("autovacuum", "on", Severity.ERROR, "dead rows stay, tables grow and everything gets slower"),
    ("track_counts", "on", Severity.ERROR, "autovacuum does not know where to work"),
    (
        "track_activities",
        "on",
        Severity.WARNING,
        "nobody sees how old transactions are, so who holds back vacuum is not found",
    ),
)
COMMIT = "synchronous_commit"
STANDBYS = "synchronous_standby_names"
HIDDEN = "SELECT pg_has_role(session_user, 'pg_read_all_stats', 'usage'), session_user"


def look(patient: Patient) -> Iterator[Finding]:
    """Durability, vacuum, and what the role may see."""
    names = [name for name, *_ in WANTED]
    with patient.django() as cursor:
        found = read(cursor, [*names, COMMIT, STANDBYS])
        cursor.execute(HIDDEN)
        sees, role = cursor.fetchone()
    for name, wanted, severity, harm in WANTED:
        if found[name].value != wanted:
            yield Finding(
                severity,
                name,
                f"{name} = {wanted}",
                f"{found[name].value} ({found[name].by}): {harm}",
                found[name].remedy,
            )
    commit = found[COMMIT]
    if commit.value == "off":
        yield Finding(
            Severity.ERROR,
            COMMIT,
            f"{COMMIT} = on",
            f"off ({commit.by}): a crash of the server loses jobs and effects whose commit was answered",
            commit.remedy,
        )
    elif commit.value == "local" and found[STANDBYS].value:
        yield warning(
            COMMIT,
            expected=f"{COMMIT} = on, where {STANDBYS} is set",
            found=f"local ({commit.by}): a failover loses commits that were answered",
            advice=commit.remedy,
        )
    if not sees:
        yield warning(
            "sessions_hidden",
            expected=f"that {role} may see how old the transactions of other roles are",
            found="it may not: who holds back vacuum is not found, and its metric shows too little",
            advice=f"GRANT pg_read_all_stats TO {role}",
        )
    yield from _client_check(patient)


def _client_check(patient: Patient) -> Iterator[Finding]:
    """A worker asks for it on every session."""
    try:
        with patient.django() as cursor:
            cursor.execute("SET LOCAL client_connection_check_interval = '2s'")
    except Error:
        yield Finding(
            Severity.ERROR,
            "client_check",
            "a server that notices vanished clients (client_connection_check_interval)",
            "it refuses that setting, which every worker's session asks for",
            "run PostgreSQL on Linux, macOS or a BSD",
        )
