"""Whether the database can be reached on both ways, and is one that we know how to work with."""

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from django.db import Error, NotSupportedError
from psycopg.conninfo import conninfo_to_dict

from hubqueue.doctor.finding import Finding, error, well
from hubqueue.doctor.patient import Patient, sqlstate

OLDEST = 15
UNREACHABLE = "database_unreachable"

# What the server or libpq says, and what it means. The saying itself is left out: it may quote a password.
MEANINGS = (
    ("password authentication failed", "the password was refused", "correct the password"),
    ("no password supplied", "a password was asked for and none is configured", "give one"),
    ("authentication failed", "the login was refused", "correct user, password and database name"),
    (
        "pg_hba.conf",
        "the server lets nobody in from here as this user",
        "add a line to pg_hba.conf",
    ),
    ("remaining connection slots", "all connections are taken", ""),
    ("too many clients", "all connections are taken", ""),
    ("too many connections", "all connections of this role or database are taken", ""),
    ("role", "the role does not exist or may not log in", "correct the user, or CREATE ROLE"),
    ("database", "the database does not exist", "correct its name, or createdb"),
    ("starting up", "the server is starting", "wait a moment and look again"),
    ("shutting down", "the server is stopping", "wait for it or look at its log"),
    ("recovery", "the server recovers and takes nobody yet", "wait, and look at its log"),
    ("refused", "nothing listens there", "start the server, or correct host and port"),
    ("resolve", "the host's name leads nowhere", "correct the host, or repair the name service"),
    ("Name or service not known", "the host's name leads nowhere", "correct the host"),
    ("No such file", "there is no such socket", "start the server, or correct HOST and PORT"),
    ("timeout", "no answer in time", "look whether the server or the network hangs"),
    ("unreachable", "no way leads there", "repair the network"),
    ("SSL", "no encrypted connection could be made", "correct sslmode and certificates"),
)
FULL = "end sessions that are not needed, lower --threads, or raise max_connections"


def look(patient: Patient) -> Iterator[Finding]:
    """Connect as Django does, and on the direct way."""
    engine = patient.settings.get("ENGINE", "")
    where = place(patient.settings, "NAME", "USER", "HOST", "PORT")
    try:
        with patient.wrapper() as made:
            if made.vendor != "postgresql":
                yield error(
                    UNREACHABLE,
                    expected="PostgreSQL, the only database of the queue",
                    found=f"ENGINE {engine}",
                    advice="point DATABASES at PostgreSQL",
                )
                return
            with made.cursor() as cursor:
                cursor.execute("SELECT current_setting('server_version')")
                (version,) = cursor.fetchone()
            number = made.connection.info.server_version
    except Exception as raised:
        yield refused(UNREACHABLE, f"DATABASES[{patient.using!r}]", where, raised)
        return
    if number < OLDEST * 10_000:
        yield error(
            "server_too_old",
            expected=f"PostgreSQL {OLDEST} or newer",
            found=f"PostgreSQL {version}",
            advice="upgrade the server",
        )
    yield from _direct(patient)
    where = place(
        patient.settings, "NAME", "USER", "HOST", "PORT"
    )  # the embedded one knows it only now
    yield well("database", f"PostgreSQL {version} answers {where}")


def _direct(patient: Patient) -> Iterator[Finding]:
    if not patient.has_direct_url:
        return
    try:
        where = place(
            conninfo_to_dict(patient.conf.direct_url or ""), "dbname", "user", "host", "port"
        )
        with patient.direct() as session:
            session.execute("SELECT 1")
    except psycopg.ProgrammingError:
        yield error(
            "direct_unreachable",
            expected="HUBQUEUE['DIRECT_URL'] in the form postgres://user:password@host:5432/name",
            found="something that libpq cannot read",
            advice="correct it; percent-encode special characters of the password",
        )
    except Exception as raised:
        yield refused("direct_unreachable", "HUBQUEUE['DIRECT_URL']", where, raised)


def place(given: Mapping[str, Any], name: str, user: str, host: str, port: str) -> str:
    """``user@host:port/name``, never the password."""
    login = f"{given[user]}@" if given.get(user) else ""
    address = f"{given.get(host) or 'localhost'}:{given.get(port) or 5432}"
    return f"{login}{address}/{given.get(name) or ''}"


def refused(code: str, way: str, where: str, raised: BaseException) -> Finding:
    """A connection that could not be made, in words that quote nobody."""
    meaning, advice = _meaning(raised)
    return error(
        code,
        expected=f"an answer from {where} ({way})",
        found=meaning,
        advice=advice or FULL,
    )


def _meaning(raised: BaseException) -> tuple[str, str]:
    said = str(raised)
    if isinstance(raised, NotSupportedError):
        return "a server too old for this Django", f"upgrade it to PostgreSQL {OLDEST} or newer"
    if isinstance(raised, psycopg.Error | Error):
        if sqlstate(raised) == "57014":
            return "no answer in time", "look whether the server hangs"
        for words, meaning, advice in MEANINGS:
            if words in said:
                return meaning, advice
    code = sqlstate(raised)
    return (
        f"{type(raised).__name__}{f' {code}' if code else ''} while connecting",
        "look into the server's log, and try the same with psql",
    )
