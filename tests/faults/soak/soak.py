"""The run: faults on processes, faults on the server and officers side by side, then peace, then the check."""

import logging
import os
import random
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import django
import psycopg

from tests.faults.soak import books, deaths, outages
from tests.faults.soak.books import Violated
from tests.faults.soak.field import Field
from tests.faults.soak.figures import figures
from tests.support.wait import until

LOOK_EVERY = 15.0
END_WITHIN = 180.0

Fault = Callable[[Field, random.Random], None]


class Lane(threading.Thread):
    """Chooses faults one after the other by dice of its own, until the soak is over."""

    def __init__(
        self,
        field: Field,
        over: threading.Event,
        faults: Mapping[Fault, int],
        rest: float,
        seed: str,
    ) -> None:
        super().__init__(daemon=True)
        self._field, self._over, self._rest = field, over, rest
        self._faults = faults
        self._dice = random.Random(seed)
        self.violated: Exception | None = None

    def run(self) -> None:
        faults, weights = list(self._faults), list(self._faults.values())
        while not self._over.wait(self._dice.uniform(0.2, 1) * self._rest):
            (fault,) = self._dice.choices(faults, weights)
            try:
                self.once(fault)
            except psycopg.Error:
                self._field.count("faults that met a server that was away")
            except Exception as found:
                self.violated = found
                self._over.set()

    def once(self, fault: Fault) -> None:
        fault(self._field, self._dice)


def soak(
    home: Path,
    seed: int,
    minutes: float,
    *,
    tell: Callable[[dict[str, Any]], None],
    plant: str | None,
) -> None:
    """Run it and tell the figures; raises ``Violated``. ``plant`` is done behind its back before a second check."""
    with Field(home, seed) as field:
        os.environ["DATABASE_URL"] = field.hub.url
        django.setup()
        logging.disable()  # what officers do is in the figures
        field.start()
        wear(field, seed, monotonic() + minutes * 60)
        end(field)
        books.finally_(field)
        tell(figures(field, seed=seed, minutes=minutes))
        if plant:
            field.hub.rows(plant)
            books.finally_(field)


def wear(field: Field, seed: int, horizon: float) -> None:
    """All lanes side by side until the horizon, with a look at what holds at every moment."""
    from tests.faults.soak import officers  # after django.setup()

    class Officers(Lane):
        def once(self, fault: Fault) -> None:
            officers.attempt(self._field, fault, self._dice)

    over = threading.Event()
    lanes = [
        Lane(field, over, deaths.FAULTS, 4, f"{seed} deaths"),
        Lane(field, over, outages.FAULTS, 4, f"{seed} outages"),
        Officers(field, over, officers.VERBS, 0.5, f"{seed} officers"),
    ]
    for lane in lanes:
        lane.start()
    try:
        while not over.wait(max(0.0, min(LOOK_EVERY, horizon - monotonic()))):
            with suppress(psycopg.Error):
                books.meanwhile(field)
            if monotonic() >= horizon:
                break
    finally:
        over.set()
        for lane in lanes:
            lane.join(120)
    for lane in lanes:
        if lane.is_alive():
            raise Violated(
                "Every fault comes to its end. Found: one that still waits for something."
            )
        if lane.violated is not None:
            raise Violated(
                f"A fault ends as it should. Found: {lane.violated!r}"
            ) from lane.violated


def end(field: Field) -> None:
    """Enqueue no more; let everybody finish what is left, also what officers had set aside."""
    from django.db import Error, connection

    from tests.faults.soak import officers

    field.load.stop()

    def peace() -> bool:
        try:
            return officers.leave_nothing_aside(field)
        except Error:
            connection.close()
            return False

    with books.invariant("Every job comes to its end."):
        try:
            until(peace, timeout=END_WITHIN)
        except AssertionError:
            left = field.hub.rows(
                "SELECT id, kind, state, attempts, error_code, run_at FROM hubqueue_job"
                " WHERE state NOT IN ('SUCCEEDED', 'CANCELLED') LIMIT 5"
            )
            raise AssertionError(f"{left} after {END_WITHIN:g} s") from None
    connection.close()
