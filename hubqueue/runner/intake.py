"""How much a child claims, and in which batches it runs: as much as it can start at once, or hand back."""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from time import monotonic
from uuid import UUID

from django.db import Error, connections

from hubqueue.conf import conf
from hubqueue.lifecycle.claim import Lane, LaneClaim, Together, claim
from hubqueue.lifecycle.connections import discard
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.guard import Claimed
from hubqueue.registry import Registry
from hubqueue.runner.hands import Batch, Hands, Running
from hubqueue.runner.sessions import set_deadline

log = logging.getLogger(__name__)

# What is claimed ahead begins within so many seconds, as fast as batches began lately, and is at most so much.
SOON = 0.15
MOST_AHEAD = 1000
# An attempt that runs for longer lets nothing wait behind it.
SLOW = 0.05
# After a second claim that broke, for want of a connection for example, there is none for so many seconds.
ALONE_FOR = 10.0


class Intake:
    """Claims for one child and bundles what it got.

    While attempts are quick, more is claimed ahead, so that no thread waits for a claim and one claim serves
    many jobs; what does not get its turn soon is handed back. While there is more than a claim finds room for and
    nothing waited for a thread when it was answered, two claims are under way at once, the second in a thread of its
    own: the server is slower to claim quick jobs than the threads are to run them.

    ``beside`` answers what runs in the child besides the ``hands``: a queue's cap counts both. ``strayed`` is called
    when something may have been given to the child that it never heard of. ``full`` says whether the last claim filled
    its room, so that there may be more.
    """

    def __init__(
        self,
        worker: UUID,
        lanes: list[Lane],
        known: Registry,
        hands: Hands,
        *,
        beside: Callable[[], Iterable[Batch]],
        strayed: Callable[[], None],
        threads: int,
        using: str,
    ) -> None:
        self._worker = worker
        self._lanes = lanes
        self._second_lanes = [Lane(lane.queue, 0) for lane in lanes if not lane.cap]
        self._second = ThreadPoolExecutor(
            1, "claimer", initializer=set_deadline, initargs=(conf().statement_deadline,)
        )
        self.full = False
        self._starved = False
        self._foreseen: dict[str, LaneClaim] = {}
        self._alone_until = 0.0
        self._beside = beside
        self._strayed = strayed
        self._registry = known
        self._kinds = known.kinds(is_async=False)
        self._groups = [
            Together([each.kind, *each.aliases], each.group, threads)
            for each in known.handlers.values()
            if each.group > 1
        ]
        self._hands = hands
        self._threads = threads
        self._using = using
        self._rate = 0.0
        self._claimed_at = monotonic()
        self._taken_then = 0

    @property
    def slots(self) -> int:
        """How many more batches may be claimed now; none while enough are waiting, so that claims are few."""
        begun = list(self._hands.begun)
        ahead = self._ahead([each.began_at for each in begun if each.began_at is not None])
        waiting = self._hands.waiting
        return 0 if waiting > ahead // 2 else self._threads + ahead - waiting - len(begun)

    def _ahead(self, begun: Sequence[float]) -> int:
        """As many batches as the threads are likely to begin within a moment; none while one of them is slow."""
        if any(monotonic() - moment > SLOW for moment in begun):
            return 0
        return min(MOST_AHEAD, int(SOON * self._rate))

    def _measure(self) -> None:
        """How many batches began a second since the last claim: what the whole child manages, not one handler."""
        now, taken = monotonic(), self._hands.taken
        latest = (taken - self._taken_then) / max(now - self._claimed_at, 0.001)
        self._rate += 0.5 * (latest - self._rate)
        self._claimed_at, self._taken_then = now, taken

    def claim(self, *, at_most: int | None) -> list[Claimed]:
        """Claim for the free slots, each lane up to its cap; a job of a grouped kind brings more of its kind.

        ``at_most`` bounds the jobs in all.
        """
        self._measure()
        slots = self._slots_within(at_most)
        if slots < 1:
            return []
        behind = self.full and self._starved and monotonic() >= self._alone_until
        if behind and slots > 1 and at_most is None and self._second_lanes:
            claimed = self._claim_twice(slots)
        else:
            claimed = self._claim(self._lanes, slots, at_most)
        self.full = len(claimed) >= slots
        self._starved = not self._hands.waiting
        return claimed

    def foresee(self, *, at_most: int | None) -> None:
        """Write down what is to be asked when a bell rings, one lane each, for the threads that are free now. What
        is written holds until more jobs are handed out."""
        free = self._threads - len(self._hands.batches)
        rooms = self._rooms(self._lanes, free if at_most is None else min(free, at_most))
        before, self._foreseen = self._foreseen, {}
        for lane, room in zip(self._lanes, rooms, strict=True):
            known = before.get(lane.queue)
            if room > 0:
                self._foreseen[lane.queue] = (
                    known
                    if known is not None and known.holds(room)
                    else LaneClaim(self._worker, lane, room, self._kinds, using=self._using)
                )

    def claim_foreseen(self, queue: str, *, meanwhile: Callable[[], None]) -> list[Claimed] | None:
        """The quickest way to what a bell rang for. None when nothing is written down for this queue."""
        if (foreseen := self._foreseen.get(queue)) is None:
            return None
        claimed = foreseen.ask(meanwhile=meanwhile)
        self.full = len(claimed) >= foreseen.room
        return claimed

    def _slots_within(self, at_most: int | None) -> int:
        return self.slots if at_most is None else min(self.slots, at_most)

    def dismiss(self) -> None:
        """Claim no more."""
        self._second.submit(connections.close_all)
        self._second.shutdown()

    def _claim_twice(self, slots: int) -> list[Claimed]:
        half = slots // 2
        second = self._second.submit(self._claim_second, half)
        try:
            claimed = self._claim(self._lanes, slots - half, None)
        finally:
            # A recall, of what a broken claim gave us, must not meet one that is under way.
            wait([second])
        try:
            return claimed + second.result()
        except Error as raised:
            broken = broken_by(raised)
            log.warning(
                "worker: a second claim failed (%s %s), claiming one at a time for %g s",
                broken.exception,
                broken.sqlstate,
                ALONE_FOR,
            )
            self._alone_until = monotonic() + ALONE_FOR
            self._strayed()
            return claimed

    def _claim_second(self, slots: int) -> list[Claimed]:
        try:
            return self._claim(self._second_lanes, slots, None)
        except Error:
            discard(self._using)
            raise

    def _claim(self, lanes: list[Lane], slots: int, at_most: int | None) -> list[Claimed]:
        rooms = self._rooms(lanes, slots)
        claimed = claim(
            self._worker,
            lanes,
            rooms,
            slots,
            self._kinds,
            groups=self._groups,
            most=at_most,
            tell=False,
            using=self._using,
        )
        lanes.append(lanes.pop(0))
        return claimed

    def _rooms(self, lanes: list[Lane], slots: int) -> list[int]:
        busy: dict[str, int] = {}
        for batch in [*self._hands.batches, *self._beside()]:
            busy[batch.queue] = busy.get(batch.queue, 0) + 1
        return [
            min(slots, lane.cap - busy.get(lane.queue, 0)) if lane.cap else slots for lane in lanes
        ]

    def bundle(self, claimed: Sequence[Claimed]) -> tuple[list[Batch], list[Claimed]]:
        """Batches to run, and the jobs whose kind nobody here knows."""
        batches: list[Batch] = []
        unknown: list[Claimed] = []
        grouped: dict[tuple[str, str], list[Running]] = {}
        for each in claimed:
            handler = self._registry.find(each.kind)
            if handler is None:
                unknown.append(each)
            elif handler.group == 1:
                batches.append(Batch(handler, [Running(each)]))
            else:
                grouped.setdefault((each.queue, handler.kind), []).append(Running(each))
        for (_, kind), running in grouped.items():
            handler = self._registry.handlers[kind]
            batches += [
                Batch(handler, running[at : at + handler.group])
                for at in range(0, len(running), handler.group)
            ]
        return batches, unknown
