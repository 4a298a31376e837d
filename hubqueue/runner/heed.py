"""Heed a bell the quickest way: what is to be asked when it rings was written down before."""

from collections.abc import Callable, Sequence

from hubqueue.lifecycle.guard import Claimed
from hubqueue.runner.doorbell import Doorbell
from hubqueue.runner.hands import Hands
from hubqueue.runner.intake import Intake
from hubqueue.runner.pace import Pace


class Heed:
    """For the loop. ``pace`` is that of ``intake``, ``others`` are those of whoever else looks for work when a bell
    rings. What was claimed is given to ``hand_out``."""

    def __init__(
        self,
        bell: Doorbell,
        intake: Intake,
        hands: Hands,
        *,
        pace: Pace,
        others: Sequence[Pace],
        hand_out: Callable[[Sequence[Claimed]], None],
    ) -> None:
        self._bell = bell
        self._intake = intake
        self._hands = hands
        self._pace = pace
        self._others = others
        self._hand_out = hand_out

    def later(self) -> None:
        """Let what rang since the last look be found by the next one."""
        if self._bell.rang():
            self._rang(heeded=False)

    def now(self) -> None:
        """Claim what a bell rang for, as it was foreseen; leave to the next look what was not."""
        rung = self._bell.rang()
        if len(rung) != 1:
            if rung:
                self._rang(heeded=False)
            return
        (queue,) = rung
        claimed = None
        try:
            claimed = self._intake.claim_foreseen(queue, meanwhile=self._hands.rouse)
            self._hand_out(claimed or [])
        finally:
            self._rang(heeded=claimed is not None)
        if claimed:
            self._pace.found(True, more=self._intake.full, everywhere=False)

    def _rang(self, *, heeded: bool) -> None:
        self._pace.rang(heeded=heeded)
        for each in self._others:
            each.rang()
