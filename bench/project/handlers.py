"""The handlers that are measured. What they do is told in bench/systems/__init__.py."""

import time
from typing import Any

from django.db import connection

from bench.starts import note
from bench.systems import EFFECT, SLEEP
from hubqueue.api import Handler, JobContext, handler


@handler("bench.noop", group=100)
def noop(job: JobContext, *, number: int) -> None:
    note(number)


@handler("bench.noop_detached", detached=True)
def noop_detached(job: JobContext, *, number: int) -> None:
    note(number)


@handler("bench.effect")
def effect(job: JobContext, *, number: int) -> None:
    note(number)
    with connection.cursor() as cursor:
        cursor.execute(EFFECT, [number])


@handler("bench.effect_grouped", group=100, pipeline=True)
def effect_grouped(job: JobContext, *, number: int) -> None:
    note(number)
    with connection.cursor() as cursor:
        cursor.execute(EFFECT, [number])


@handler("bench.sleep")
def sleep(job: JobContext, *, number: int) -> None:
    note(number)
    time.sleep(SLEEP)


@handler("bench.paused", detached=True)
def paused(job: JobContext, *, number: int) -> None:
    note(number)


KINDS: dict[str, Handler[Any]] = {
    "noop": noop,
    "noop_detached": noop_detached,
    "effect": effect,
    "effect_grouped": effect_grouped,
    "sleep": sleep,
    "paused": paused,
}
