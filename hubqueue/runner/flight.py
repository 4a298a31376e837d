"""What a child holds from its claim to its settle: shown while it runs, watched, and settled when it has ended."""

import logging
from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from hubqueue.conf import conf
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.guard import Claimed, Key
from hubqueue.lifecycle.owed import Owed
from hubqueue.runner.board import Board
from hubqueue.runner.deadlines import Deadlines
from hubqueue.runner.hands import Batch, Outcome, Running
from hubqueue.runner.payer import Payer

log = logging.getLogger(__name__)

STOP_WITHIN = 5.0


class Flight:
    """The attempts of one child (``jobs``), and what is still owed to their rows (``payer``).

    ``settled`` is called, in whatever thread, after each first try to settle. The other methods are called by
    those who run the batches.
    """

    def __init__(self, board: Board, *, using: str, settled: Callable[[], None]) -> None:
        self.jobs: dict[Key, Running] = {}
        self.payer = Payer(using=using, tried=self._tried)
        self._board = board
        self._using = using
        self._settled = settled
        self._deadlines = Deadlines()
        self._grace = max(conf().settle_grace.total_seconds() + 0.5, STOP_WITHIN)

    def begin(self, batch: Batch) -> None:
        """Right before the handlers of a batch that a thread runs."""
        self.show([batch])
        self._deadlines.watch(batch.latch, batch.handler.timeout.total_seconds())

    def show(self, batches: Iterable[Batch]) -> None:
        """Right before handlers whose time somebody else keeps."""
        now = monotonic()
        for batch in batches:
            batch.began_at = now
            deadline = now + batch.handler.timeout.total_seconds() + self._grace
            for running in batch.running:
                running.slot = self._board.put(running.claimed.id, running.claimed.fence, deadline)

    def stop(self, batch: Batch) -> None:
        """Right after the handlers, however they ended."""
        self._deadlines.forget(batch.latch)

    def put_off(self, batch: Batch) -> None:
        """They are to run one by one instead, and only what runs is shown."""
        for running in batch.running:
            self._hide(running)

    def end(self, batch: Batch, outcomes: Sequence[Outcome]) -> None:
        """They have ended: settled, or answered what is owed."""
        for running, outcome in zip(batch.running, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                seen = broken_by(outcome)
                log.error(
                    "worker: an attempt could not be settled: %s %s", seen.exception, seen.sqlstate
                )
                self.owe(Owed(running.claimed, verdicts.hand_back("unsettled"), self._using))
            elif isinstance(outcome, Owed):
                self.owe(outcome)
            else:
                self._over(running.claimed)

    def owe(self, owed: Owed) -> None:
        """Have a verdict stored as soon as may be. What bounds it from here on are the engine's own deadlines."""
        running = self.jobs.get(owed.claimed.attempt)
        if running is not None and running.slot is not None:
            self._board.unbind(running.slot)
        self.payer.put(owed)

    def _tried(self, owed: Owed) -> None:
        self._over(owed.claimed)
        self._settled()

    def _over(self, claimed: Claimed) -> None:
        running = self.jobs.pop(claimed.attempt, None)
        if running is not None:
            self._hide(running)

    def _hide(self, running: Running) -> None:
        if running.slot is not None:
            self._board.clear(running.slot)
            running.slot = None
