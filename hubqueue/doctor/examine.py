"""Run the probes one after another: each by itself, each with a deadline, whatever becomes of the others."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from time import monotonic

from hubqueue.doctor import (
    circles,
    clock,
    isolation,
    leader,
    leases,
    listening,
    locks,
    pauses,
    pooler,
    reach,
    room,
    schema,
    server,
    settings,
    snapshots,
    storage,
    timeouts,
    work,
    workers,
    writable,
)
from hubqueue.doctor.finding import Finding, Severity, error, warning, well
from hubqueue.doctor.patient import STATEMENT, Patient, sqlstate

DEADLINE = 5.0
ALTOGETHER = 30.0
CANCELLED = "57014"

Look = Callable[[Patient], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Probe:
    """One family of conditions. ``healthy`` is said when it finds nothing.

    When a ``root`` fails nothing else is looked at; ``rows`` are looked at where the tables are.
    """

    name: str
    look: Look
    healthy: str
    root: bool = False
    rows: bool = False


PROBES = (
    Probe("settings", settings.look, "no contradictions"),
    Probe("database", reach.look, "reachable", root=True),
    Probe("schema", schema.look, "every migration is applied, tables and rights are whole"),
    Probe("writable", writable.look, "the server takes writes"),
    Probe("isolation", isolation.look, "transactions run at read committed"),
    Probe("timeouts", timeouts.look, "the server ends nothing before its own timeout"),
    Probe("pooler", pooler.look, ""),
    Probe("listening", listening.look, "not tried behind a pooler"),
    Probe("clock", clock.look, ""),
    Probe("connections", room.look, ""),
    Probe("snapshots", snapshots.look, "no old transaction can be seen"),
    Probe("locks", locks.look, "nobody waits for a lock for long"),
    Probe("server", server.look, "commits are durable, autovacuum works, sessions can be seen"),
    Probe("storage", storage.look, "vacuum keeps up with hubqueue_job", rows=True),
    Probe(
        "work",
        work.look,
        "every kind and queue with work has a living worker, nothing is late",
        rows=True,
    ),
    Probe("workers", workers.look, "none is alive", rows=True),
    Probe("circles", circles.look, "no job is handed back again and again", rows=True),
    Probe("pauses", pauses.look, "nothing is paused", rows=True),
    Probe("leases", leases.look, "no job is held by a dead worker", rows=True),
    Probe("leader", leader.look, "nobody needs one", rows=True),
)


def examine(patient: Patient, *, probes: Iterable[Probe] = PROBES) -> Iterator[Finding]:
    """Everything there is to say, probe by probe; at least one finding each, unless the database is away.

    Never raises, and takes at most ``ALTOGETHER`` seconds and one ``DEADLINE``.
    """
    started = monotonic()
    tables = True
    for probe in probes:
        if probe.rows and not tables:
            continue
        if monotonic() - started > ALTOGETHER:
            yield warning(
                "not_examined",
                expected=f"all probes to be done within {ALTOGETHER:g} s",
                found=f"no time was left for {probe.name} and what follows it",
                advice="the database answers slowly: see the findings above, and look again",
            )
            return
        found = _within(probe, patient)
        yield from found
        if probe.root and not any(each.severity is Severity.OK for each in found):
            return
        tables = tables and all(each.code != schema.MISSING for each in found)


def _within(probe: Probe, patient: Patient) -> list[Finding]:
    answer: Future[list[Finding]] = Future()
    Thread(target=_look, args=[probe, patient, answer], daemon=True).start()
    try:
        return answer.result(timeout=DEADLINE)
    except TimeoutError:
        say = error if probe.root else warning
        return [
            say(
                "no_answer",
                expected=f"an answer about {probe.name} within {DEADLINE:g} s",
                found="none: the database is stuck, overloaded or cut off",
                advice="look at its load and the network, and look again",
            )
        ]


def _look(probe: Probe, patient: Patient, answer: "Future[list[Finding]]") -> None:
    found: list[Finding] = []
    try:
        found.extend(probe.look(patient))
        if not found and probe.healthy:
            found.append(well(probe.name, probe.healthy))
    except Exception as raised:
        found.append(_failed(probe, raised))
    answer.set_result(found)


def _failed(probe: Probe, raised: Exception) -> Finding:
    """A probe that could not look. Its message is left out: it may quote rows."""
    state = sqlstate(raised)
    found = f"{type(raised).__name__}{f' {state}' if state else ''}"
    if state == CANCELLED:
        found = f"none within {STATEMENT.total_seconds():g} s: the table is locked, or the server overloaded"
    return warning(
        "not_examined",
        expected=f"an answer about {probe.name}",
        found=found,
        advice="see to the other findings first, then look again",
    )
