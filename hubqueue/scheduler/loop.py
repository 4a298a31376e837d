"""The loop of the scheduler: a tick every few seconds, whatever becomes of the database."""

import logging
import random
import threading
import time
from collections.abc import Callable
from functools import partial

from hubqueue.conf import conf
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.failure import Broken, broken_by
from hubqueue.registry import registry
from hubqueue.scheduler import counters  # noqa: F401  registers the receivers
from hubqueue.scheduler.errors import Stopped
from hubqueue.scheduler.lane import Lane
from hubqueue.scheduler.leadership import Leadership, Standing
from hubqueue.scheduler.schema import is_behind
from hubqueue.scheduler.tick import Ticker
from hubqueue.signals import scheduler_ticked

log = logging.getLogger("hubqueue.scheduler")

Report = Callable[[str, float], None]
SAID_EVERY = 60.0
FIRST_WAIT = 0.2
REFUSALS = {
    Standing.BEHIND: "The scheduler leads nothing: the database lacks a migration of hubqueue;"
    " run manage.py migrate.",
    Standing.POOLED: "The scheduler leads nothing: it is connected through a connection pooler, which"
    " would strand the leader's lock; set HUBQUEUE['DIRECT_URL'] to reach PostgreSQL itself.",
    Standing.READ_ONLY: "The scheduler leads nothing: PostgreSQL is read-only; it waits for a writable one.",
}


def run(stop: threading.Event, report: Report) -> None:
    """Tick until ``stop`` is set. Returns within about a second then; nothing else ends it.

    After each tick it calls ``report("leading", 0 or 1)`` and ``report("tick", lag)``, the lag in seconds
    behind the moment the tick was due. While the database cannot be used it reports nothing.
    """
    loop = Loop(stop, report)
    try:
        loop.run()
    finally:
        loop.close()


class Loop:
    """The scheduler of one process: see ``run``."""

    def __init__(self, stop: threading.Event, report: Report) -> None:
        self._stop = stop
        self._report = report
        self._using = alias()
        self._period = conf().tick.total_seconds()
        self._lane = Lane("duties", stop)
        self._leadership = Leadership(
            tick=conf().tick, deadline=conf().statement_deadline, may_lead=self._knows_the_schema
        )
        self._ticker = Ticker(
            registry, self._lane, stop=stop, deadline=conf().statement_deadline, using=self._using
        )
        self._leading = False
        self._signed_term = 0
        self._failures = 0
        self._went_well = time.monotonic()
        self._said: dict[str, float] = {}

    def run(self) -> None:
        """Tick until stopped."""
        due = time.monotonic() + random.random() * self._period
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            if self._step(max(0.0, time.monotonic() - due)):
                due = max(due + self._period, time.monotonic())
            else:
                due = time.monotonic() + self._backoff()

    def close(self) -> None:
        """Let go of the lock and of the connections."""
        self._leadership.close()
        self._lane.close()
        self._ticker.close()

    def _step(self, lag: float) -> bool:
        """One tick; False when the database could not be used."""
        try:
            standing = self._leadership.stand()
            self._note(standing)
            if standing is Standing.LEADING:
                self._lead()
        except Stopped:
            return True
        except Exception as raised:
            self._note_outage(broken_by(raised))
            return False
        self._failures, self._went_well = 0, time.monotonic()
        self._report("leading", float(self._leading))
        self._report("tick", lag)
        scheduler_ticked.send_robust(sender=None, lag=lag, leading=self._leading)
        return True

    def _note(self, standing: Standing) -> None:
        leading = standing is Standing.LEADING
        if leading != self._leading:
            log.info("This scheduler leads now." if leading else "This scheduler leads no longer.")
        self._leading = leading
        if standing in REFUSALS:
            self._say(REFUSALS[standing])

    def _lead(self) -> None:
        term = self._leadership.term
        self._ticker.tick(new_term=term != self._signed_term, still=self._still_leads)
        self._signed_term = term

    def _still_leads(self) -> bool:
        return not self._stop.is_set() and self._leadership.confirm()

    def _knows_the_schema(self) -> bool:
        behind = partial(is_behind, self._using)
        return not self._lane.run("schema", behind, conf().statement_deadline)

    def _note_outage(self, broken: Broken) -> None:
        self._failures += 1
        scheduler_ticked.send_robust(
            sender=None, lag=time.monotonic() - self._went_well, leading=False
        )
        self._say(
            "The scheduler cannot use the database and tries again until it can:"
            f" {broken.exception} {broken.sqlstate}".rstrip()
            + "."
        )

    def _backoff(self) -> float:
        longest = min(self._period, FIRST_WAIT * 2.0 ** min(self._failures, 16))
        return longest * (0.5 + random.random() / 2)

    def _say(self, sentence: str) -> None:
        now = time.monotonic()
        if now - self._said.get(sentence, -SAID_EVERY) >= SAID_EVERY:
            self._said[sentence] = now
            log.warning("%s", sentence)
