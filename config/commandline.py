"""Run management commands so that a wrong setting or a missing database is one sentence."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db.utils import OperationalError

EMBEDDED_ADDRESS = "the embedded database"
CONNECTION_CLASSES = frozenset({"08", "28", "3D", "53", "57"})
STATEMENT_CANCELLED = "57014"


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code.

    A setting that cannot be used and a database that cannot be reached end in one line on
    stderr and exit code 1. `HUBQUEUE_TRACEBACK=1` lets the traceback through. No password is
    printed either way: the sentence is built from host, port and database name only.
    """
    try:
        execute_from_command_line(list(argv))
    except ImproperlyConfigured as error:
        if _wants_traceback():
            raise
        return _refuse(str(error))
    except OperationalError as error:
        if _wants_traceback() or not _is_about_the_connection(error):
            raise
        return _refuse(_unreachable(error))
    return 0


def _wants_traceback() -> bool:
    return os.environ.get("HUBQUEUE_TRACEBACK") == "1"


def _refuse(sentence: str) -> int:
    sys.stderr.write(" ".join(sentence.split()) + "\n")
    return 1


def _is_about_the_connection(error: OperationalError) -> bool:
    sqlstate = getattr(error.__cause__, "sqlstate", None)
    if sqlstate is None:  # it was never made
        return True
    return sqlstate[:2] in CONNECTION_CLASSES and sqlstate != STATEMENT_CANCELLED


def _unreachable(error: OperationalError) -> str:
    database = settings.DATABASES["default"]
    return (
        f"The database is not reachable: expected PostgreSQL at {_address(database)}, got "
        f"{_reason(error)}; check DATABASE_URL and that the server runs, "
        "or unset DATABASE_URL to use the embedded database."
    )


def _address(database: Mapping[str, Any]) -> str:
    if database["ENGINE"] == "config.embedded":
        return EMBEDDED_ADDRESS
    host = database.get("HOST") or "the local socket"
    port = database.get("PORT") or 5432
    return f"host {host}, port {port}, database {database.get('NAME') or '(none)'}"


def _reason(error: OperationalError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = lines[0].rstrip(".") if lines else type(error).__name__
    return f"“{reason}”"
