"""The loop of a worker child: hear, claim, hand out, pay what is owed. It runs no handler itself."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic, sleep
from uuid import UUID

from django.db import Error

from hubqueue.conf import conf
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.claim import Lane, claim_suspect, tell_of
from hubqueue.lifecycle.connections import discard
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.orphans import end_orphans
from hubqueue.lifecycle.owed import Owed
from hubqueue.registry import registry
from hubqueue.runner.async_intake import AsyncIntake
from hubqueue.runner.board import Board
from hubqueue.runner.doorbell import Doorbell
from hubqueue.runner.evloop import Evloop
from hubqueue.runner.flight import Flight
from hubqueue.runner.hands import Batch, Hands, Outcome
from hubqueue.runner.heed import Heed
from hubqueue.runner.intake import Intake
from hubqueue.runner.membership import Membership
from hubqueue.runner.pace import Pace
from hubqueue.runner.rarely import Rarely
from hubqueue.runner.recall import recall
from hubqueue.runner.schema import missing_migrations
from hubqueue.runner.span import Span
from hubqueue.runner.teller import Teller
from hubqueue.runner.wakeup import Wakeup
from hubqueue.runner.wire import Wire
from hubqueue.states import Stop

log = logging.getLogger(__name__)

LOOK_UP_EVERY = 1.0
CLAIMED_AHEAD_FOR = 0.5
HEAR_WITHIN = 0.05  # while one claim follows another
# The threads that waited for work need the interpreter's lock, which what comes next would hold.
LET_BEGIN = 0.0001


class Loop:
    """One child's life, from registration to its last settled attempt."""

    def __init__(
        self,
        worker: UUID,
        wire: Wire,
        *,
        caps: dict[str, int],
        threads: int,
        async_jobs: int,
        solo: bool,
        max_jobs: int,
        max_memory: int,
        using: str,
        name: str,
        board: Board,
    ) -> None:
        self.worker = worker
        self.wire = wire
        self.using = using
        self.solo = solo
        self.span = Span(max_jobs=max_jobs, max_memory=max_memory, solo=solo)
        self.kinds = registry.kinds()
        self.lanes = [Lane(queue, cap) for queue, cap in caps.items()]
        self.threads = 1 if solo else threads
        self.bell = Doorbell([lane.queue for lane in self.lanes], name)
        self.pace = Pace(conf().poll_without_listen.total_seconds())
        self.done = 0
        self.draining = False
        self.strays = True
        self._wakeup = Wakeup()
        self._rarely = Rarely()
        self.member = Membership(
            worker, wire, queues=list(caps), kinds=self.kinds, solo=solo, using=using
        )
        self.flight = Flight(board, using=using, settled=self._settled)
        self.hands = Hands(self.threads, using=using, flight=self.flight, freed=self._freed)
        self.intake = Intake(
            worker,
            self.lanes,
            registry,
            self.hands,
            beside=lambda: self.evloop.batches,
            strayed=self._strayed,
            threads=self.threads,
            using=using,
        )
        self.evloop = Evloop(
            using=using, in_flight=self.flight.jobs, began=self.flight.show, ended=self._landed
        )
        self.async_intake = AsyncIntake(
            worker,
            [Lane(queue, cap) for queue, cap in caps.items()],
            [] if solo else registry.kinds(is_async=True),
            jobs=async_jobs,
            evloop=self.evloop,
            beside=lambda: list(self.hands.batches),
            pace=Pace(self.pace.slowest),
            using=using,
        )
        self.heed = Heed(
            self.bell,
            self.intake,
            self.hands,
            pace=self.pace,
            others=[self.async_intake.pace],
            hand_out=self._hand_out,
        )
        self.teller = Teller(wire, flight=self.flight, bell=self.bell, evloop=self.evloop)

    def drain(self) -> None:
        """Claim no more; what is in flight finishes. Safe from a signal handler."""
        self.draining = True
        self._wakeup.wake()

    def run(self) -> None:
        """Until drained and empty, or the supervisor is gone."""
        said = True
        while not (self.draining and not self._busy and self.flight.payer.idle):
            if said:
                self._hear()
            if self.wire.closed:
                self._abandon_ship()
                return
            self._attempt(self._stay_known)
            horizon = monotonic() + HEAR_WITHIN
            while not self.draining and self._attempt(self._look) and monotonic() < horizon:
                pass
            self._attempt(partial(end_orphans, self.using))
            self._hand_back_unbegun()
            if self.teller.tell() and self.span.over(busy=self._busy):
                self.draining = True
            said = self._wait()
        self.hands.dismiss()
        self.intake.dismiss()
        self.flight.payer.dismiss()
        self.evloop.dismiss()
        self.bell.close()
        self._wakeup.close()

    def _hear(self) -> None:
        """What the supervisor says: stop requests, lost fences, drain, interrupt, register anew, recall."""
        for message in self.wire.receive():
            match message:
                case {"stop": [job_id, fence, what]}:
                    if running := self.flight.jobs.get((UUID(job_id), fence)):
                        running.watch.stop = Stop(what)
                        self.evloop.heed(running.claimed.attempt)
                case {"lost": [job_id, fence]}:
                    if running := self.flight.jobs.get((UUID(job_id), fence)):
                        running.watch.lost = True
                        self.evloop.heed(running.claimed.attempt)
                case {"drain": _}:
                    self.draining = True
                case {"interrupt": _}:
                    self.draining = True
                    self.hands.interrupt_all()
                    self.evloop.interrupt_all()
                    self.flight.payer.forget()
                case {"register": _}:
                    self.member.forgotten()
                case {"recall": _}:
                    self.strays = True
                case _:
                    log.error("worker: an unknown message from the supervisor: %s", sorted(message))

    def _attempt(self, step: Callable[[], bool | None]) -> bool:
        """Whether ``step`` is to be taken again at once. Database trouble is waited out: it ends neither the process
        nor an attempt."""
        try:
            return bool(step())
        except Error as raised:
            broken = broken_by(raised)
            self._rarely.warn(
                "worker: the database does not answer (%s %s), waiting",
                broken.exception,
                broken.sqlstate,
            )
            discard(self.using)
            self.strays = True
            self.pace.failed()
            self.async_intake.pace.failed()
            return False

    def _stay_known(self) -> None:
        """The session and the row by which others know that we live: also with every slot at work, and to the end."""
        if self.bell.tend():
            self.pace.now()
            self.async_intake.pace.now()
        self.heed.later()
        self.member.tend(visible=self.bell.listening)
        if self.strays and self.member.registered:
            self._recall()

    def _look(self) -> bool:
        """Claim what there is room for. Answers whether there may be more, and room for it."""
        slowest = conf().poll_every if self.bell.listening else conf().poll_without_listen
        self.pace.slowest = self.async_intake.pace.slowest = slowest.total_seconds()
        sync_due = self.intake.slots > 0 and self.pace.left <= 0
        if not sync_due and self.async_intake.left != 0:
            return False
        if self.span.over(busy=self._busy):
            self.draining = True
            return False
        if not self._ready():
            return False
        more = False
        if sync_due:
            claimed = self._claim()
            self._hand_out(claimed)
            more = bool(claimed) and self.intake.full
            self.pace.found(bool(claimed), more=more)
        if self.async_intake.left == 0:
            claimed = self.async_intake.claim(at_most=self.span.left)
            self._hand_out(claimed)
            more |= bool(claimed)
        return more and self.intake.slots > 0

    def _foresee(self) -> None:
        """Be ready for a bell."""
        if self.member.registered and not self.solo:
            over = self.span.over(busy=self._busy)
            self.intake.foresee(at_most=0 if over else self.span.left)

    def _hand_out(self, claimed: Sequence[Claimed]) -> None:
        """Give what was claimed to those who run it."""
        if not claimed:
            return
        idle = not self._busy
        batches, unknown = self.intake.bundle(claimed)
        for each in unknown:
            self.flight.owe(Owed(each, verdicts.hand_back(), self.using))
        self.span.taken += sum(len(batch.running) for batch in batches)
        self.hands.take([batch for batch in batches if not batch.handler.is_async])
        self.evloop.take([batch for batch in batches if batch.handler.is_async])
        if idle and not self.intake.full:
            sleep(LET_BEGIN)
        tell_of(claimed)

    def _ready(self) -> bool:
        """Registered, on a schema this code knows."""
        if not self.member.registered:
            if missing := missing_migrations(self.using):
                self._rarely.warn(
                    "worker: claims nothing, the database lacks %s: run migrate.",
                    ", ".join(missing),
                )
                self.pace.failed()
                return False
            self.member.register(visible=self.bell.listening)
        return True

    def _recall(self) -> None:
        """Nothing may be claimed by us that we never heard of."""
        for owed in recall(self.worker, self._known, using=self.using):
            self.flight.owe(owed)
        self.strays = False

    def _strayed(self) -> None:
        self.strays = True

    def _known(self) -> set[UUID]:
        return {*[job_id for job_id, _ in list(self.flight.jobs)], *self.flight.payer.unpaid}

    def _claim(self) -> list[Claimed]:
        if self.solo and (self.evloop.count or not self.flight.payer.idle):
            return []
        if self.solo:
            queues = [lane.queue for lane in self.lanes]
            found = claim_suspect(self.worker, queues, self.kinds, tell=False, using=self.using)
            return [found] if found else []
        return self.intake.claim(at_most=self.span.left)

    def _hand_back_unbegun(self) -> None:
        """What was claimed ahead and not begun goes back, unspent: at the end at once, else after a moment. What fills
        a bound on jobs is what the child ends with."""
        waited = CLAIMED_AHEAD_FOR if not self.draining or self.span.full else 0.0
        for running in self.hands.withdraw(older_than=waited):
            self.span.taken -= 1
            self.flight.owe(Owed(running.claimed, verdicts.hand_back(), self.using))

    def _landed(self, batch: Batch, outcome: Outcome) -> None:
        """In the event loop's thread, after a handler there has ended."""
        self.flight.end(batch, [outcome])
        self.done += 1
        self.async_intake.pace.now()
        self._wakeup.wake()

    def _freed(self, batch: Batch) -> None:
        self.done += len(batch.running)
        if self.span.outgrown:
            self.draining = True
            self._hand_back_unbegun()  # what was claimed ahead would be taken before the loop knows
        if self.draining or self.intake.slots > 0:
            self.pace.now()
            self._wakeup.wake()

    def _settled(self) -> None:
        if self.solo:
            self.pace.now()
        if self.draining or self.solo:
            self._wakeup.wake()

    @property
    def _busy(self) -> bool:
        return bool(self.hands.batches or self.evloop.count)

    def _wait(self) -> bool:
        """Until there is something to do. Whether the supervisor may have said something."""
        pause = LOOK_UP_EVERY
        if not self.draining and self.intake.slots > 0:
            pause = min(pause, self.pace.left)
        if not self.draining and (left := self.async_intake.left) is not None:
            pause = min(pause, left)
        if pause <= 0:
            return True
        if not self.bell.listening:
            return self.wire in self._wakeup.wait(pause, self.wire)
        self._attempt(self._foresee)
        ready = self._wakeup.wait(pause, self.wire, self.bell)
        if self.wire in ready:
            return True
        if self.bell in ready and not self.draining and not self.strays:
            self._attempt(self.heed.now)
        return False

    def _abandon_ship(self) -> None:
        """The supervisor is gone, nobody renews the lease: interrupt, hand back what can be, and go."""
        self.hands.interrupt_all()
        self.evloop.interrupt_all()
        horizon = monotonic() + 5
        while (self._busy or not self.flight.payer.idle) and monotonic() < horizon:
            self._wakeup.wait(0.2)
