"""The invariants. Each is a sentence that the soak says when it does not hold."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from tests.faults import afterwards
from tests.faults.soak.field import PATIENT, Field

# Codes of failures that the faults account for, and of those that may cost an attempt: a process that was killed
# while its job ran alone, a handler that was stopped or cut off for longer than its timeout, and the load's own.
EXPLAINED = {
    "connection_lost",
    "row_busy",
    "worker_died",
    "interrupted",
    "timeout",
    "stop_requested",
}
SPENT = {"worker_died", "timeout", "doomed"}
ONE_EFFECT = (
    "('burden.plain', 'burden.grouped', 'burden.detached', 'burden.flaky',"
    " 'soak.doomed', 'soak.gil', 'soak.patient')"
)


class Violated(Exception):
    """An invariant that does not hold: its sentence, and what was found."""


@contextmanager
def invariant(sentence: str) -> Iterator[None]:
    """What fails in the block violates ``sentence``."""
    try:
        yield
    except AssertionError as found:
        raise Violated(f"{sentence} Found: {found}") from found


def meanwhile(field: Field) -> None:
    """The cheap ones, which hold at every moment. Raises ``Violated``, or what the database says."""
    acknowledged = field.load.acknowledged()
    with field.session() as session:
        wanted = {name for (name,) in session.execute("SELECT name FROM burden_wanted")}
        nothing_lost(acknowledged, wanted)
        effects(lambda sql: session.execute(sql.encode()).fetchall())


def finally_(field: Field) -> None:
    """All of them, when nobody enqueues any more and every job has ended."""
    hub, load, trees = field.hub, field.load, field.trees

    def ask(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in hub.rows(sql)]

    nothing_lost(load.acknowledged(), load.wanted())
    effects(ask)
    done_or_cancelled(ask)
    with invariant("Nothing is given up unless an officer gave it up."):
        nobody = ask(
            "SELECT id, kind, state FROM hubqueue_job WHERE state <> 'SUCCEEDED' AND NOT (state = 'CANCELLED' AND id IN"
            " (SELECT job_id FROM hubqueue_operation WHERE verb = 'cancel')) LIMIT 5"
        )
        assert not nobody, nobody
    with invariant("The effect of a job and its completion belong to the same attempt."):
        parted = ask(
            "SELECT job.id, job.kind, job.fence, effect.fence FROM hubqueue_job AS job"
            " JOIN burden_effect AS effect ON effect.name = job.payload->>'name'"
            f" WHERE job.kind IN {ONE_EFFECT} AND job.fence <> effect.fence LIMIT 5"
        )
        assert not parted, parted
    ticks(ask)
    with invariant("No fence is issued twice."):
        afterwards.fences_are_new(load)
    with invariant(
        "No attempt fails without a cause, and none is spent on a fault that was not its own."
    ):
        afterwards.failures_are_explained(hub, load, EXPLAINED, SPENT)
    with invariant("The workers live, are complete and registered, and nobody else is."):
        afterwards.processes_live(hub, trees, within=PATIENT)
    with invariant("No session of the dead stays, and no transaction without an end."):
        afterwards.nobody_else_is_connected(hub, trees, within=PATIENT)
    with invariant("One scheduler leads, and ticks."):
        afterwards.somebody_leads(hub, within=PATIENT)


Ask = Callable[[str], list[tuple[Any, ...]]]


def nothing_lost(acknowledged: set[str], wanted: set[str]) -> None:
    with invariant("What was acknowledged to an enqueuer is never lost."):
        lost = sorted(acknowledged - wanted)
        assert not lost, f"{len(lost)} lost, such as {lost[:5]}"


def effects(ask: Ask) -> None:
    with invariant("A transactional effect takes place once."):
        twice = ask("SELECT name FROM burden_effect GROUP BY name HAVING count(*) > 1 LIMIT 5")
        assert not twice, twice
    with invariant("What was rolled back has no effect."):
        stray = ask("SELECT name FROM burden_effect EXCEPT SELECT name FROM burden_wanted LIMIT 5")
        assert not stray, stray


def done_or_cancelled(ask: Ask) -> None:
    cancelled = {
        name
        for (name,) in ask("SELECT payload->>'name' FROM hubqueue_job WHERE state = 'CANCELLED'")
    }
    missing = {
        name
        for (name,) in ask("SELECT name FROM burden_wanted EXCEPT SELECT name FROM burden_effect")
    }
    with invariant("Every committed enqueue takes effect, unless an officer cancelled it."):
        undone = sorted(missing - cancelled)
        assert not undone, f"{len(undone)} without effect, such as {undone[:5]}"
    with invariant("What was cancelled has no effect."):
        done = sorted(cancelled - missing)
        assert not done, f"{len(done)} with an effect, such as {done[:5]}"


def ticks(ask: Ask) -> None:
    with invariant("Each minute of a schedule runs once."):
        ran = Counter(moment for (moment,) in ask("SELECT at FROM soak_tick"))
        due = [
            (moment, job)
            for moment, job in ask("SELECT at, job_id FROM hubqueue_periodictick ORDER BY at")
        ]
        owed = Counter({moment: 1 for moment, job in due if job is not None})
        assert ran == owed, (
            f"not once: {[str(moment) for moment in (ran - owed) | (owed - ran)][:5]}"
        )
        moments = [
            moment for moment, job in due if job is not None
        ]  # the first record is of no minute
        holes = [
            str(later)
            for sooner, later in pairwise(moments)
            if (later - sooner).total_seconds() != 60
        ]
        assert not holes, f"minutes missing before {holes[:5]}"
