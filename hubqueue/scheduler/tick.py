"""One tick of the leader: look at the clock, do what is due, write down how it went."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from hubqueue.lifecycle.failure import broken_by
from hubqueue.registry import Cadence, Duty, Registry
from hubqueue.scheduler import ledger
from hubqueue.scheduler.cadence import is_due
from hubqueue.scheduler.duties import BuiltIn
from hubqueue.scheduler.errors import Stopped
from hubqueue.scheduler.lane import Lane
from hubqueue.scheduler.sessions import bounded
from hubqueue.signals import duty_ended

log = logging.getLogger("hubqueue.scheduler")

QUERY_CANCELED = "57014"
T = TypeVar("T")
Still = Callable[[], bool]


class Ticker:
    """Does the ticks of one process.

    The queue's own duties run in the tick, one after another. Those of applications run beside it, one after
    another too, so that a slow one never delays a periodic job.
    """

    def __init__(
        self, known: Registry, lane: Lane, *, stop: threading.Event, deadline: timedelta, using: str
    ) -> None:
        self._known = known
        self._lane = lane
        self._beside = Lane("applications", stop)
        self._busy: threading.Thread | None = None
        self._own = BuiltIn(known, using=using)
        self._built_in = self._own.duties()
        self._deadline = deadline
        self._using = using

    def tick(self, *, new_term: bool, still: Still) -> None:
        """Do one tick. ``still`` confirms before each duty that this process leads.

        A duty that fails is recorded and stops nothing else. Raises when the database fails the tick itself.
        """
        sign = partial(
            ledger.open_page,
            socket.gethostname(),
            os.getpid(),
            new_term=new_term,
            using=self._using,
        )
        page = self._run(self._lane, "look", sign, self._deadline)
        self._own.now = page.now
        self._start_beside(_due(list(self._known.duties.values()), page), page.now, still)
        self._do(self._lane, _due(self._built_in, page), page.now, still)

    def close(self) -> None:
        """End the thread of the applications' duties."""
        self._beside.close()

    def _start_beside(self, duties: Sequence[Duty], now: datetime, still: Still) -> None:
        if not duties or (self._busy is not None and self._busy.is_alive()):
            return
        self._busy = threading.Thread(
            target=self._do_beside, args=[duties, now, still], name="scheduler beside", daemon=True
        )
        self._busy.start()

    def _do_beside(self, duties: Sequence[Duty], now: datetime, still: Still) -> None:
        try:
            self._do(self._beside, duties, now, still)
        except Stopped:
            pass
        except Exception as raised:
            log.warning("the duties of the applications were cut short: %s", _code(raised))

    def _do(self, lane: Lane, duties: Sequence[Duty], now: datetime, still: Still) -> None:
        rare = [each.name for each in duties if each.cadence is not Cadence.TICK]
        if rare:
            start = partial(ledger.begin, rare, now, using=self._using)
            self._run(lane, "begin", start, self._deadline)
        outcomes = []
        for duty in duties:
            if not still():
                break
            outcomes.append((duty.name, self._attempt(lane, duty)))
        if outcomes:
            note = partial(ledger.record, outcomes, now, using=self._using)
            self._run(lane, "record", note, self._deadline)

    def _attempt(self, lane: Lane, duty: Duty) -> str:
        began = time.monotonic()
        code = ""
        try:
            self._run(lane, duty.name, duty.run, duty.deadline)
        except Stopped:
            raise
        except Exception as raised:
            code = _code(raised)
            log.warning("duty %s failed: %s", duty.name, code)
        duty_ended.send_robust(
            sender=None, duty=duty.name, code=code, seconds=time.monotonic() - began
        )
        return code

    def _run(self, lane: Lane, name: str, call: Callable[[], T], deadline: timedelta) -> T:
        return lane.run(name, partial(bounded, call, deadline, using=self._using), deadline)


def _due(duties: Sequence[Duty], page: ledger.Page) -> list[Duty]:
    due = []
    for duty in duties:
        entry = page.entries.get(duty.name)
        ran_at = entry.ran_at if entry else None
        succeeded_at = entry.succeeded_at if entry else None
        if is_due(duty.cadence, page.now, ran_at=ran_at, succeeded_at=succeeded_at):
            due.append(duty)
    return due


def _code(raised: BaseException) -> str:
    broken = broken_by(raised)
    return "timeout" if broken.sqlstate == QUERY_CANCELED else broken.code
