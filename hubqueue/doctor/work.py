"""What waits, and whether anybody will ever take it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.backends.utils import CursorWrapper

from hubqueue.doctor.finding import Finding, error, names, span, warning
from hubqueue.doctor.patient import Patient
from hubqueue.gauges import CAP, LEVELS, READY_SQL, SUSPECT_SQL

LATE = timedelta(minutes=5)

ALIVE = """
SELECT ARRAY(SELECT jsonb_array_elements_text(queues)), ARRAY(SELECT jsonb_array_elements_text(kinds))
FROM hubqueue_worker WHERE lease_until > hubqueue_now()
"""
PAUSES = "SELECT scope, value FROM hubqueue_pause WHERE until IS NULL OR until > hubqueue_now()"


@dataclass(slots=True)
class Waiting:
    """READY jobs of one queue and kind, as many as were counted."""

    number: int = 0
    due: int = 0
    oldest: float = 0.0


@dataclass(slots=True)
class Lanes:
    """The queue as a claim sees it. Counted within the bounds of the gauges: ``capped`` queues hold more."""

    waiting: dict[tuple[str, str], Waiting] = field(default_factory=lambda: defaultdict(Waiting))
    capped: set[str] = field(default_factory=set)
    alive: list[tuple[list[str], list[str]]] = field(default_factory=list)
    paused: set[tuple[str, str]] = field(default_factory=set)

    def serving(self, queue: str) -> list[list[str]]:
        """The kinds of each living worker that serves the queue."""
        return [kinds for queues, kinds in self.alive if queue in queues]

    def is_paused(self, queue: str, kind: str) -> bool:
        return ("queue", queue) in self.paused or ("kind", kind) in self.paused

    def many(self, number: int, queue: str) -> str:
        return f"{'at least ' if queue in self.capped else ''}{number:,}"


def look(patient: Patient) -> Iterator[Finding]:
    """Work without a worker, kinds without code, work that is late."""
    with patient.django() as cursor:
        lanes = _read(cursor)
    yield from _unserved(lanes)
    yield from _unknown(lanes, patient)
    yield from _late(lanes)


def _read(cursor: CursorWrapper) -> Lanes:
    lanes = Lanes()
    for statement in (READY_SQL, SUSPECT_SQL):
        cursor.execute(statement, {"cap": CAP, "levels": LEVELS})
        for queue, kind, due, count, age, over in cursor.fetchall():
            waiting = lanes.waiting[queue, kind]
            waiting.number += count
            if due:
                waiting.due += count
                waiting.oldest = max(waiting.oldest, age)
            if over:
                lanes.capped.add(queue)
    cursor.execute(ALIVE)
    lanes.alive = cursor.fetchall()
    cursor.execute(PAUSES)
    lanes.paused = set(cursor.fetchall())
    return lanes


def _unserved(lanes: Lanes) -> Iterator[Finding]:
    due: dict[str, int] = defaultdict(int)
    for (queue, kind), waiting in lanes.waiting.items():
        if waiting.due and not lanes.is_paused(queue, kind):
            due[queue] += waiting.due
    if not lanes.alive:
        some = sum(due.values())
        say = error if some else warning
        yield say(
            "no_worker",
            expected="a living worker",
            found=f"none; {'at least ' if lanes.capped else ''}{some:,} jobs are due",
            advice="start one: manage.py runworker, and look at the log of the one that ended",
        )
        return
    for queue in sorted(queue for queue in due if not lanes.serving(queue)):
        yield error(
            "queue_not_served",
            expected=f"a living worker that serves the queue {queue}",
            found=f"none; {lanes.many(due[queue], queue)} jobs are due there",
            advice=f"start a worker with {queue} in --queues",
        )


def _unknown(lanes: Lanes, patient: Patient) -> Iterator[Finding]:
    unknown: dict[str, int] = defaultdict(int)
    behind: dict[str, int] = defaultdict(int)
    for (queue, kind), waiting in lanes.waiting.items():
        serving = lanes.serving(queue)
        if any(kind in kinds for kinds in serving):
            continue
        if patient.registry.find(kind) is None:
            unknown[kind] += waiting.number
        elif serving:
            behind[kind] += waiting.number
    if unknown:
        yield warning(
            "unknown_kinds",
            expected="code for every kind that waits",
            found=f"at least {sum(unknown.values()):,} jobs of kinds that neither this code nor a living worker"
            f" knows: {names(sorted(unknown))}; they wait untouched",
            advice="deploy their code, give the new kind the old one in aliases=, or cancel them",
        )
    if behind:
        yield warning(
            "workers_lack_kinds",
            expected="workers that run the same code as this command",
            found=f"at least {sum(behind.values()):,} jobs of kinds that this code knows and no living worker of"
            f" their queue: {names(sorted(behind))}",
            advice="restart the workers with the code that is deployed",
        )


def _late(lanes: Lanes) -> Iterator[Finding]:
    late: dict[str, float] = {}
    for (queue, kind), waiting in lanes.waiting.items():
        known = any(kind in kinds for kinds in lanes.serving(queue))
        if known and not lanes.is_paused(queue, kind) and waiting.oldest > LATE.total_seconds():
            late[queue] = max(late.get(queue, 0.0), waiting.oldest)
    for queue, oldest in sorted(late.items()):
        some = sum(each.due for (name, _), each in lanes.waiting.items() if name == queue)
        yield warning(
            "queue_late",
            expected=f"due jobs of the queue {queue} to start within {span(LATE)}",
            found=f"the oldest waits for {span(oldest)}, {lanes.many(some, queue)} are due",
            advice="start more workers, or ask manage.py hubqueue why with the id of one that waits",
        )
