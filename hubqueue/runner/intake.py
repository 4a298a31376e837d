"""How much a child claims, and in which batches it runs: as much as it can start at once, or hand back."""

from collections.abc import Sequence
from time import monotonic
from uuid import UUID

from hubqueue.lifecycle.claim import Lane, Together, claim
from hubqueue.lifecycle.guard import Claimed
from hubqueue.registry import Registry
from hubqueue.runner.hands import Batch, Hands, Running

# What is claimed ahead begins within so many seconds, as fast as batches began lately, and is at most so much.
SOON = 0.05
MOST_AHEAD = 1000


class Intake:
    """Claims for one child and bundles what it got.

    While attempts are quick, more is claimed ahead, so that no thread waits for a claim and one claim serves
    many jobs; what does not get its turn soon is handed back.
    """

    def __init__(
        self,
        worker: UUID,
        lanes: list[Lane],
        known: Registry,
        hands: Hands,
        *,
        threads: int,
        using: str,
    ) -> None:
        self._worker = worker
        self._lanes = lanes
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
        if any(monotonic() - moment > SOON for moment in begun):
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
        slots = self.slots if at_most is None else min(self.slots, at_most)
        busy: dict[str, int] = {}
        for batch in list(self._hands.batches):
            busy[batch.queue] = busy.get(batch.queue, 0) + 1
        rooms = [
            min(slots, lane.cap - busy.get(lane.queue, 0)) if lane.cap else slots
            for lane in self._lanes
        ]
        claimed = claim(
            self._worker,
            self._lanes,
            rooms,
            slots,
            self._kinds,
            groups=self._groups,
            most=at_most,
            using=self._using,
        )
        self._lanes.append(self._lanes.pop(0))
        return claimed

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
