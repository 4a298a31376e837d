"""Officers who press every button at random, and what they leave to do for others."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import Error, connection, transaction

from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.querysets import database_now
from tests.faults.burden.handlers import plain
from tests.faults.burden.tables import WANT
from tests.faults.soak.extra.handlers import doomed, gil, patient
from tests.faults.soak.field import Field

Fault = Callable[[Field, random.Random], None]
WHO = {"actor": "soak", "reason": "the dice said so"}
LONGEST_GIL = 10  # two leases, and more
CANCELLED_KINDS = ["burden.plain", "burden.detached", "burden.flaky", "soak.patient"]


def order_for_later(field: Field, dice: random.Random) -> None:
    """Jobs that wait, so that there is something to park, to cancel and to run now."""
    with transaction.atomic():
        for _ in range(5):
            name = want(field, dice)
            moment = database_now("default") + timedelta(seconds=dice.uniform(5, 60))
            plain.using(run_at=moment, priority=dice.choice([-5, 0, 5])).enqueue(name=name)


def order_dead_letters(field: Field, dice: random.Random) -> None:
    with transaction.atomic():
        for _ in range(3):
            doomed.enqueue(name=want(field, dice))


def order_patience(field: Field, dice: random.Random) -> None:
    with transaction.atomic():
        for _ in range(10):
            patient.enqueue(name=want(field, dice), seconds=dice.uniform(0, 4))


def order_gil(field: Field, dice: random.Random) -> None:
    with transaction.atomic():
        gil.enqueue(name=want(field, dice), seconds=dice.randint(1, LONGEST_GIL))


def park(field: Field, dice: random.Random) -> None:
    for job in some(["READY", "RUNNING"], "kind <> 'soak.tick'"):
        officers.park(job, **WHO)


def release(field: Field, dice: random.Random) -> None:
    for job in some(["PARKED"]):
        officers.release(job, **WHO)


def run_now(field: Field, dice: random.Random) -> None:
    for job in some(["READY", "PARKED"]):
        officers.run_now(job, **WHO)


def cancel(field: Field, dice: random.Random) -> None:
    for job in some(["READY", "RUNNING", "PARKED"], "kind = ANY (%s)", CANCELLED_KINDS):
        officers.cancel(job, **WHO)


def redrive(field: Field, dice: random.Random) -> None:
    """Mercy and redrive are one transaction: who is redriven does not die again."""
    for job in some(["DEAD"]):
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO soak_mercy SELECT payload->>'name' FROM hubqueue_job WHERE id = %s"
                    " ON CONFLICT DO NOTHING",
                    [job],
                )
            officers.redrive(job, **WHO)


def pause(field: Field, dice: random.Random) -> None:
    scope, value = dice.choice(
        [("queue", "default"), ("kind", "burden.plain"), ("kind", "burden.wake"), ("tenant", "ada")]
    )
    until = database_now("default") + timedelta(seconds=dice.uniform(1, 8))
    officers.pause(scope, value, until=until, **WHO)


def resume(field: Field, dice: random.Random) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT scope, value FROM hubqueue_pause ORDER BY random() LIMIT 1")
        for scope, value in cursor.fetchall():
            officers.resume(scope, value, **WHO)


def leave_nothing_aside(field: Field) -> bool:
    """Resume, release, redrive and run all there is now. True when there was nothing to do and nothing runs."""
    dice = field.dice
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM hubqueue_pause")
        (pauses,) = cursor.fetchone() or (0,)
    for _ in range(pauses):
        attempt(field, resume, dice)
    for state, verb in (("PARKED", release), ("DEAD", redrive)):
        for _ in some([state], many=1000):
            attempt(field, verb, dice)

    def hurry(field: Field, dice: random.Random) -> None:
        for job in some(["READY"], "run_at > hubqueue_now() + interval '2 s'", many=1000):
            officers.run_now(job, **WHO)

    attempt(field, hurry, dice)
    return not some(["READY", "RUNNING", "PARKED", "DEAD"])


def attempt(field: Field, verb: Callable[..., Any], dice: random.Random) -> None:
    """One verb; what is refused or cannot be reached is counted, and no fault of the queue's."""
    name = getattr(verb, "__name__", "verb")
    try:
        verb(field, dice)
        field.count(f"officer: {name}")
    except MoveRefused as refused:
        field.count(f"officer refused: {refused.code}")
    except Error:
        field.count("officer: the database did not answer")
        connection.close()


def some(states: list[str], condition: str = "true", *values: object, many: int = 1) -> list[UUID]:
    """Jobs in one of the states, at random."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM hubqueue_job WHERE state = ANY (%s) AND {condition} ORDER BY random() LIMIT {many}",
            [states, *values],
        )
        return [job for (job,) in cursor.fetchall()]


def want(field: Field, dice: random.Random) -> str:
    """A name in the ledger."""
    name = f"officer-{dice.getrandbits(64):016x}"
    with connection.cursor() as cursor:
        cursor.execute(WANT, [name, None])
    return name


VERBS: dict[Fault, int] = {
    order_for_later: 8,
    order_dead_letters: 3,
    order_patience: 3,
    order_gil: 1,
    park: 8,
    release: 6,
    run_now: 6,
    cancel: 4,
    redrive: 8,
    pause: 2,
    resume: 4,
}
