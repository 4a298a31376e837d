"""A verdict that could not be stored yet. It is paid as soon as the row or the database lets us."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from hubqueue.errors import LeaseLost, Unsettled
from hubqueue.lifecycle.connections import begin, discard, is_connection_loss
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.guard import ROW_BUSY, Claimed, hold
from hubqueue.lifecycle.read_back import read_back
from hubqueue.lifecycle.room import room
from hubqueue.lifecycle.settle import Abandon, Settled, Verdict, retry, settle_within

SHORT = timedelta(milliseconds=200)
AFTER_REFUSAL = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Owed:
    """An ended attempt and its verdict. ``record`` runs in the settle's transaction (``Done.record``).

    ``in_doubt``: a COMMIT was sent and its answer lost, so the row may be settled already.
    """

    claimed: Claimed
    verdict: Verdict
    using: str
    abandon: Abandon | None = None
    record: Callable[[], object] | None = None
    in_doubt: bool = False


def pay(owed: Owed, *, patience: timedelta = SHORT) -> Settled | Owed | None:
    """Store the verdict. Answers ``Owed`` again when it still cannot be stored, None when the job is lost."""
    begin(owed.using)
    try:
        return store(owed, patience=patience)
    except LeaseLost:
        return read_back(owed.claimed, using=owed.using) if owed.in_doubt else None
    except Unsettled:
        return owed
    except Exception as raised:
        if is_connection_loss(raised, owed.using):
            discard(owed.using)
            return owed
        if owed.record is None and getattr(raised.__cause__, "sqlstate", None) in ROW_BUSY:
            return owed
        return _unstorable(owed, raised)


def store(owed: Owed, *, patience: timedelta) -> Settled:
    """The settle with what belongs in its transaction. Raises what it meets; then nothing was written."""
    with room(), transaction.atomic(using=owed.using):
        if owed.record is not None:
            hold(owed.claimed, using=owed.using)
            owed.record()
        (settled,) = settle_within(
            [(owed.claimed, owed.verdict)],
            using=owed.using,
            abandon=owed.abandon,
            patience=patience,
        )
    return settled


def _unstorable(owed: Owed, raised: Exception) -> Owed:
    """The verdict itself, or what it records, is refused: the attempt failed, and that is owed instead."""
    failed = retry(broken_by(raised), after=AFTER_REFUSAL)
    return Owed(owed.claimed, failed, owed.using, owed.abandon)
