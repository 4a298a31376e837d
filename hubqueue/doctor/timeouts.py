"""Timeouts of the server that end what the engine or a handler does before its own timeout."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import psycopg

from hubqueue.doctor.finding import Finding, error, names, span, warning
from hubqueue.doctor.origin import Setting, read
from hubqueue.doctor.patient import Patient

SETTINGS = (
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "transaction_timeout",
)
IDLE = "idle_session_timeout"


def look(patient: Patient) -> Iterator[Finding]:
    """Compare what the server would end with what the settings and the handlers are allowed."""
    with patient.wrapper() as made, made.cursor() as cursor:
        found = read(cursor, [*SETTINGS, IDLE])
    for name in SETTINGS:
        if name in found and found[name].length:
            yield from LOOKS[name](patient, found[name])
    idle = found[IDLE] if patient.has_direct_url is False else _direct_idle(patient) or found[IDLE]
    for each in (found[IDLE], idle):
        if each.length:
            yield _idle_session(each)
            return


def _direct_idle(patient: Patient) -> Setting | None:
    with suppress(psycopg.Error), patient.direct() as session:
        return read(session, [IDLE])[IDLE]
    return None


def _statement(patient: Patient, setting: Setting) -> Iterator[Finding]:
    cut = _longer_than(patient, setting.length)
    least = max([patient.conf.statement_deadline, *patient.timeouts().values()])
    if setting.length >= least:
        return
    say = error if setting.length < patient.conf.settle_grace else warning
    yield say(
        setting.name,
        expected=f"0, or at least {span(least)} (the longest transactional timeout, and STATEMENT_DEADLINE)",
        found=f"{_value(setting)}: longer statements of handlers are cancelled and spend an attempt{_kinds(cut)};"
        " so is a settle that waits for a locked row",
        advice=setting.remedy,
    )


def _lock(patient: Patient, setting: Setting) -> Iterator[Finding]:
    cut = _longer_than(patient, setting.length)
    if cut:
        yield warning(
            setting.name,
            expected=f"0, or at least {span(patient.timeouts()[cut[0]])}",
            found=f"{_value(setting)}: a handler that waits longer for a row fails with 55P03 and spends an"
            f" attempt{_kinds(cut)}; so does an enqueue that waits for another of its key",
            advice=setting.remedy,
        )


def _idle_in_transaction(patient: Patient, setting: Setting) -> Iterator[Finding]:
    cut = _longer_than(patient, setting.length)
    if cut:
        yield error(
            setting.name,
            expected=f"0, or at least {span(patient.timeouts()[cut[0]])} (the longest transactional timeout)",
            found=f"{_value(setting)}: a handler that computes or calls others for longer loses its session, its"
            f" attempt goes back unspent, and it runs again without end{_kinds(cut)}",
            advice=f"{setting.remedy}, or shorten those handlers' timeouts",
        )


def _transaction(patient: Patient, setting: Setting) -> Iterator[Finding]:
    grace = patient.conf.settle_grace
    cut = _longer_than(patient, setting.length - grace)
    if cut:
        least = patient.timeouts()[cut[0]] + grace
        yield error(
            setting.name,
            expected=f"0, or at least {span(least)} (the longest transactional timeout and SETTLE_GRACE)",
            found=f"{_value(setting)}: a handler that takes longer loses its session, its attempt goes back unspent,"
            f" and it runs again without end{_kinds(cut)}; snapshots of detached handlers end too",
            advice=f"{setting.remedy}, or shorten those handlers' timeouts",
        )


LOOKS = {
    "statement_timeout": _statement,
    "lock_timeout": _lock,
    "idle_in_transaction_session_timeout": _idle_in_transaction,
    "transaction_timeout": _transaction,
}


def _idle_session(setting: Setting) -> Finding:
    return warning(
        setting.name,
        expected="0",
        found=f"{_value(setting)}: sessions of idle worker threads and of LISTEN are ended; the first job after a"
        " quiet time is handed back once (unspent) and starts a second later",
        advice=f"{setting.remedy} for the queue's role",
    )


def _longer_than(patient: Patient, length: timedelta) -> list[str]:
    return [kind for kind, timeout in patient.timeouts().items() if timeout > length]


def _kinds(cut: list[str]) -> str:
    return f" ({names(cut)})" if cut else ""


def _value(setting: Setting) -> str:
    return f"{span(setting.length)} ({setting.by})"
