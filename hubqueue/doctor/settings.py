"""Django's settings: what `manage.py check` refuses, and what is unwise in production. Asks no database."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, run_checks
from django.core.checks import Error as CheckError
from django.utils.module_loading import import_string

from hubqueue.doctor.finding import Finding, error, warning
from hubqueue.doctor.patient import Patient
from hubqueue.runner.options import pool_problems


def look(patient: Patient) -> Iterator[Finding]:
    """The checks of the queue, the backends of django.tasks, and the database's entry."""
    for found in [*run_checks(tags=["hubqueue"]), *_backends()]:
        if found.is_silenced():
            continue
        say = error if found.is_serious() else warning
        yield say(
            str(found.id),
            expected="settings without contradictions",
            found=str(found.msg).rstrip("."),
            advice=str(found.hint or "correct the settings; manage.py check tells the same").rstrip(
                "."
            ),
        )
    yield from _database(patient)
    if settings.DEBUG:
        yield warning(
            "debug",
            expected="DEBUG = False",
            found="True: Django keeps the text of every statement in memory, and shows settings to visitors",
            advice="set DEBUG = False",
        )
    if patient.conf.store_error_messages:
        yield warning(
            "error_messages_stored",
            expected="HUBQUEUE_STORE_ERROR_MESSAGES = False",
            found="True: messages of exceptions are stored, and they quote rows",
            advice="set it to False; what is stored goes with KEEP_FAILURES",
        )


def _database(patient: Patient) -> Iterator[Finding]:
    entry = patient.settings
    if not entry.get("AUTOCOMMIT", True):
        yield error(
            "autocommit",
            expected=f"AUTOCOMMIT = True in DATABASES[{patient.using!r}]",
            found="False: transactions stay open behind Django's back, attempts fail with transaction_left_open",
            advice="remove AUTOCOMMIT from the entry",
        )
    for problem in pool_problems(entry, patient.threads, patient.async_connections):
        yield error(
            "pool",
            expected=f"a pool in DATABASES[{patient.using!r}] that fits --threads {patient.threads}",
            found=problem.rstrip("."),
            advice="correct max_size and CONN_MAX_AGE, or lower --threads",
        )


def _backends() -> Iterator[CheckMessage]:
    """The entries of TASKS that name our backend, which the checks see only when django.tasks is set up."""
    given: Any = getattr(settings, "TASKS", {})
    for name, entry in given.items() if isinstance(given, dict) else ():
        path = str(entry.get("BACKEND", "")) if isinstance(entry, dict) else ""
        if not path.startswith("hubqueue."):
            continue
        try:
            yield from import_string(path)(name, entry).check()
        except Exception as raised:
            yield CheckError(
                f"TASKS[{name!r}]: {path} cannot be loaded ({type(raised).__name__})",
                id="hubqueue.E030",
            )
