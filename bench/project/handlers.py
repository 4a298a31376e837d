"""The handlers that are measured. What they do is told in bench/systems/__init__.py."""

import inspect
import time
from typing import Any

from django.db import connection

from bench.starts import note
from bench.systems import EFFECT, SLEEP
from hubqueue.api import Handler, JobContext, handler


@handler("bench.noop", detached=True)
def noop(job: JobContext, *, number: int) -> None:
    note(number)


@handler("bench.effect")
def effect(job: JobContext, *, number: int) -> None:
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
    "effect": effect,
    "sleep": sleep,
    "paused": paused,
}

if "group" in inspect.signature(handler).parameters:
    options: dict[str, Any] = {"group": 100}

    @handler("bench.effect_grouped", **options)
    def effect_grouped(job: JobContext, *, number: int) -> None:
        note(number)
        with connection.cursor() as cursor:
            cursor.execute(EFFECT, [number])

    KINDS["effect_grouped"] = effect_grouped
