"""Timeouts of the server that end what the engine or a handler does before its own timeout.

Workers set the bounds of their sessions themselves (``runner/sessions.py``), except those of single statements and
lock waits of handlers, those behind a pooler, and those of the session that listens.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import psycopg

from hubqueue.direct import is_pooled
from hubqueue.doctor.finding import Finding, error, names, span, warning
from hubqueue.doctor.origin import Setting, read
from hubqueue.doctor.patient import Patient
from hubqueue.runner.doorbell import PROVE_EVERY

ALWAYS = ("statement_timeout", "lock_timeout")
POOLED = ("idle_in_transaction_session_timeout", "transaction_timeout")
IDLE = "idle_session_timeout"
SETTINGS = (*ALWAYS, *POOLED, IDLE)


def look(patient: Patient) -> Iterator[Finding]:
    """Compare what the server would end with what the settings and the handlers are allowed."""
    with patient.wrapper() as made, made.cursor() as cursor:
        found = read(cursor, SETTINGS)
        pooled = is_pooled(made.connection)
    for name in (*ALWAYS, *POOLED) if pooled else ALWAYS:
        if name in found and found[name].length:
            yield from LOOKS[name](patient, found[name])
    idle = _of_direct_session(patient)
    if idle is not None and timedelta(0) < idle.length <= timedelta(seconds=PROVE_EVERY):
        yield _idle_session(idle)


def _of_direct_session(patient: Patient) -> Setting | None:
    with suppress(psycopg.Error), patient.direct() as session:
        return None if is_pooled(session) else read(session, [IDLE])[IDLE]
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
        " a settle that waits longer for a locked row hands its attempt back",
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
            found=f"{_value(setting)}, behind a pooler: a handler that computes or calls others for longer loses its"
            f" session, its attempt goes back unspent, and it runs again without end{_kinds(cut)}",
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
            found=f"{_value(setting)}, behind a pooler: a handler that takes longer loses its session, its attempt goes"
            f" back unspent, and it runs again without end{_kinds(cut)}; snapshots of detached handlers end too",
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
        expected=f"0, or more than {PROVE_EVERY:g} s",
        found=f"{_value(setting)}: the session that listens is ended again and again; bells that ring in between are"
        " missed and found by polling",
        advice=setting.remedy,
    )


def _longer_than(patient: Patient, length: timedelta) -> list[str]:
    return [kind for kind, timeout in patient.timeouts().items() if timeout > length]


def _kinds(cut: list[str]) -> str:
    return f" ({names(cut)})" if cut else ""


def _value(setting: Setting) -> str:
    return f"{span(setting.length)} ({setting.by})"
