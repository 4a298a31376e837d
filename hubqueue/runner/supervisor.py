"""The supervisor: keeps children alive, watches their deadlines, and ends everything in order. Runs no handler."""

import logging
import signal
from contextlib import suppress
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from hubqueue.conf import conf
from hubqueue.lifecycle.database import alias
from hubqueue.runner.crew import Child, Crew
from hubqueue.runner.heartbeat import Heartbeat, patience
from hubqueue.runner.options import BadOptions, Options
from hubqueue.runner.rounds import Rounds
from hubqueue.runner.spawn import Spawner
from hubqueue.runner.sweeper import Death, Sweeper
from hubqueue.runner.wakeup import Wakeup
from hubqueue.runner.wire import Message
from hubqueue.signals import worker_changed

log = logging.getLogger(__name__)

LOOK_EVERY = 0.25
UNTIL_IDLE_EVERY = timedelta(milliseconds=300)
STOP_WITHIN = 5.0
ANSWERS_WITHIN = 2.0
CRASH_PAUSE = 1.0
SILENT_AFTER = 60.0
MUTE_AFTER = 5.0


class Supervisor:
    """``run()`` answers the exit status: 0 after an orderly end, 1 when it could not start as asked."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.crew = Crew()
        self.spawner = Spawner(options)
        using = alias()
        heartbeat = Heartbeat(self.crew, using=using)
        self.heartbeat = Rounds(
            "renewal", heartbeat.beat, conf().renew_every, deadline=patience(conf())
        )
        self.sweeper = Sweeper(
            list(options.caps), using=using, steady=lambda: self.heartbeat.steady
        )
        often = UNTIL_IDLE_EVERY if options.until_idle else conf().rescue_every
        self.sweeps = Rounds("rescue", self._sweep, often)
        self.scheduler: Child | None = None
        self.ticked_at: float | None = None
        self.leading = False
        self.refusal: str | None = None
        self.looked_at = monotonic()
        self._signals = 0
        self._draining_since: float | None = None
        self._interrupted_at: float | None = None
        self._restart_at: dict[int | str, float] = {}
        self._wakeup = Wakeup()

    def run(self) -> int:
        self._listen_to_signals()
        self.heartbeat.start()
        self.sweeps.start()
        try:
            while not self._over():
                self._staff()
                self._hear()
                self._watch_deadlines()
                self._bury_the_dead()
                self._see_to_the_end()
                self.looked_at = monotonic()
        finally:
            self._finish()
        if self.refusal:
            raise BadOptions(self.refusal)
        return 0

    @property
    def draining(self) -> bool:
        return self._draining_since is not None

    def drain(self) -> None:
        """Stop claiming; what is in flight finishes within the grace time while its lease is renewed."""
        if self.draining:
            return
        self._draining_since = monotonic()
        for child in [*self.crew.children, *([self.scheduler] if self.scheduler else [])]:
            self._ask_to_end(child)

    def interrupt(self) -> None:
        """End now: handlers are interrupted, their transactions roll back, their attempts are unspent."""
        if self._interrupted_at is None:
            self.drain()
            self._interrupted_at = monotonic()
            for child in self.crew.children:
                child.wire.send({"interrupt": True})

    def _listen_to_signals(self) -> None:
        def heard(number: int, frame: Any) -> None:
            self._signals += 1
            self._wakeup.wake()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, heard)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
            signal.signal(signal.SIGHUP, heard)

    def _over(self) -> bool:
        return self.draining and not self.crew.children and self.scheduler is None

    def _staff(self) -> None:
        """See that everybody who should be there is there."""
        if self.draining:
            return
        present = {child.number for child in self.crew.children}
        for number in range(self.options.processes):
            if number not in present and self._may_start(number) and self.options.caps_of(number):
                self._enlist(self.spawner.worker(number))
        solos = sum(child.solo for child in self.crew.children)
        if solos < min(self.options.processes, self.sweeper.suspects_due) and self._may_start(
            "solo"
        ):
            self._enlist(self.spawner.solo())
        if self.options.scheduler and self.scheduler is None and self._may_start("scheduler"):
            self.scheduler = self.spawner.scheduler()

    def _may_start(self, place: int | str) -> bool:
        return monotonic() >= self._restart_at.get(place, 0.0)

    def _enlist(self, child: Child) -> None:
        with self.crew.lock:
            self.crew.children.append(child)
        worker_changed.send_robust(sender=None, worker=str(child.worker), event="started")

    def _hear(self) -> None:
        everybody = [*self.crew.children, *([self.scheduler] if self.scheduler else [])]
        heard = {child.wire: child for child in everybody if not child.wire.closed}
        for wire in self._wakeup.wait(LOOK_EVERY, *heard):
            self._read(heard[wire])

    def _read(self, child: Child) -> None:
        for message in child.wire.receive():
            child.heard_at = monotonic()
            self._heed(child, message)

    def _heed(self, child: Child, message: Message) -> None:
        match message:
            case {"alive": ages, "shares": shares}:
                child.listen_age = ages["listen"]
                for job_id, fence, share in shares:
                    self.crew.add_share(UUID(job_id), fence, share)
            case {"blocked": job_id}:
                child.blocked_by = UUID(job_id) if job_id else None
            case {"registered": _}:
                child.registered = True
                self.heartbeat.hurry()
            case {"refuse": sentence}:
                self.refusal = sentence
                child.ended_by_us = True
                self.drain()
            case {"tick": lag, "leading": leading}:
                self.ticked_at, self.leading = monotonic() - min(lag, 0), leading
            case {"hello": _} | {"bye": _}:
                pass

    def _watch_deadlines(self) -> None:
        """A handler that did not stop in time ends its child; its neighbours come back unspent."""
        now = monotonic()
        for child in self.crew.children:
            in_flight = child.in_flight
            late = {job_id for job_id, each in in_flight.items() if each.deadline < now}
            if not late or child.killed_for or child.mute:
                continue
            if self._waits_for_the_database(child, late):
                continue
            if child.blocked_by in in_flight:
                late = {child.blocked_by}
            elif len(in_flight) > 1 and now - child.heard_at > MUTE_AFTER:
                # One of them holds the interpreter's lock, and those that wait for it are late as well.
                child.mute = True
                log.warning("worker: a child has not said a word and is late, ending it")
                child.popen.kill()
                continue
            child.killed_for = late
            log.warning(
                "worker: %d handler(s) did not stop at their timeout, ending their child", len(late)
            )
            self._kill(child)

    def _waits_for_the_database(self, child: Child, late: set[UUID]) -> bool:
        """Who is late because the database does not answer is not to blame: once it does, there is time again."""
        in_flight = child.in_flight
        first = min((in_flight[job_id].deadline for job_id in late & in_flight.keys()), default=0.0)
        if self.heartbeat.succeeded_at < first:
            self.heartbeat.hurry()
            return True
        if self.heartbeat.succeeded_at - first < ANSWERS_WITHIN:
            return False
        child.grant(late, monotonic() + STOP_WITHIN)
        return True

    def _bury_the_dead(self) -> None:
        for child in [child for child in self.crew.children if child.popen.poll() is not None]:
            self._read(child)
            with self.crew.lock:
                self.crew.children.remove(child)
            self._report(child)
            child.close()
            if child.popen.returncode != 0:
                self._restart_at[child.number if child.number is not None else "solo"] = (
                    monotonic() + CRASH_PAUSE * (monotonic() - child.started_at < 10)
                )
        if self.scheduler is not None and self.scheduler.popen.poll() is not None:
            self.scheduler.wire.close()
            self.scheduler = None
            self._restart_at["scheduler"] = monotonic() + CRASH_PAUSE

    def _report(self, child: Child) -> None:
        """What a dead child held goes back: as suspects only when nobody knows what killed it."""
        blameless = child.ended_by_us or bool(child.killed_for)
        in_flight = frozenset(child.killed_for) if blameless else frozenset(child.in_flight)
        self.sweeper.report(Death(child.worker, in_flight, frozenset(child.killed_for), child.solo))
        self.sweeps.hurry()
        event = "ended" if child.popen.returncode == 0 else "killed" if child.killed_for else "died"
        worker_changed.send_robust(sender=None, worker=str(child.worker), event=event)

    def _see_to_the_end(self) -> None:
        if self._signals == 1 and not self.draining:
            self.drain()
        elif self._signals > 1:
            self.interrupt()
        if self.options.until_idle and self.sweeper.idle and not self.draining:
            self.drain()
        now = monotonic()
        if self.draining and self._interrupted_at is None:
            assert self._draining_since is not None
            if now - self._draining_since > self.options.grace.total_seconds():
                self.interrupt()
        if self._interrupted_at is not None and now - self._interrupted_at > STOP_WITHIN:
            for child in [*self.crew.children, *([self.scheduler] if self.scheduler else [])]:
                self._kill(child)

    def _ask_to_end(self, child: Child) -> None:
        if child is self.scheduler:
            child.popen.terminate()
        else:
            child.wire.send({"drain": True})

    def _kill(self, child: Child) -> None:
        child.ended_by_us = True
        with suppress(ProcessLookupError):
            child.popen.kill()

    def _sweep(self) -> None:
        self.sweeper.sweep()
        if self.options.until_idle:
            self.sweeper.look_idle()

    def _finish(self) -> None:
        """Everybody is gone: the last rescue of what they left, then the threads."""
        for child in [*self.crew.children, *([self.scheduler] if self.scheduler else [])]:
            self._kill(child)
        horizon = monotonic() + STOP_WITHIN
        while self.sweeper.unreaped and monotonic() < horizon:
            self.sweeps.hurry()
            self._wakeup.wait(0.05)
        self.sweeps.stop()
        self.heartbeat.stop()
        self.spawner.close()
