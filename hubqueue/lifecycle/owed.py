"""A verdict that could not be stored yet. It is paid as soon as the row or the database lets us."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db import transaction

from hubqueue.errors import LeaseLost, NoRoom, Unsettled
from hubqueue.lifecycle.connections import begin, broke, discard, is_connection_loss
from hubqueue.lifecycle.failure import Broken, broken_by
from hubqueue.lifecycle.guard import ROW_BUSY, Claimed, hold
from hubqueue.lifecycle.losses import CODE, IN_A_ROW, lost_again, others_stood
from hubqueue.lifecycle.read_back import read_back
from hubqueue.lifecycle.room import room
from hubqueue.lifecycle.settle import Abandon, Settled, Verdict, retry, settle_within
from hubqueue.signals import lease_lost

SHORT = timedelta(milliseconds=200)
BRIEF = timedelta(milliseconds=20)
AFTER_REFUSAL = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Owed:
    """An ended attempt and its verdict. ``record`` runs in the settle's transaction (``Done.record``).

    ``in_doubt``: a COMMIT was sent and its answer lost, so the row may be settled already. ``instead`` is the verdict
    should the job turn out to lose its connection each time; ``losses`` is how often ``record`` has.
    """

    claimed: Claimed
    verdict: Verdict
    using: str
    abandon: Abandon | None = None
    record: Callable[[], object] | None = None
    in_doubt: bool = False
    instead: Verdict | None = None
    losses: int = 0

    @property
    def is_simple(self) -> bool:
        """Whether it can be stored together with others."""
        return self.record is None and self.instead is None and not self.in_doubt


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
            lost = owed.record is not None and broke(raised, owed.using)
            discard(owed.using)
            return replace(owed, in_doubt=True, losses=owed.losses + lost)
        if owed.record is None and getattr(raised.__cause__, "sqlstate", None) in ROW_BUSY:
            return owed
        return _unstorable(owed, raised)


def pay_together(debts: Sequence[Owed], *, using: str) -> list[tuple[Owed, Settled | Owed | None]]:
    """Store many verdicts, in one commit where that can be; an outcome each, as ``pay`` has it.

    What stands in the way of one is found by halving, so that it holds up no other.
    """
    begin(using)
    simple = [owed for owed in debts if owed.is_simple]
    rest = [owed for owed in debts if not owed.is_simple]
    return [*_together(simple, using), *((owed, pay(owed, patience=BRIEF)) for owed in rest)]


def _together(debts: Sequence[Owed], using: str) -> list[tuple[Owed, Settled | Owed | None]]:
    if len(debts) < 2:
        return [(owed, pay(owed, patience=BRIEF)) for owed in debts]
    hooks = {owed.claimed.id: owed.abandon for owed in debts}

    def abandon(claimed: Claimed) -> object:
        hook = hooks[claimed.id]
        return None if hook is None else hook(claimed)

    try:
        with room(), transaction.atomic(using=using):
            settled = settle_within(
                [(owed.claimed, owed.verdict) for owed in debts],
                using=using,
                abandon=abandon,
                patience=BRIEF,
                all_or_nothing=False,
            )
    except NoRoom:
        return [(owed, owed) for owed in debts]
    except Exception as raised:
        if is_connection_loss(raised, using):
            discard(using)
            return [(owed, replace(owed, in_doubt=True)) for owed in debts]
        half = len(debts) // 2
        return [*_together(debts[:half], using), *_together(debts[half:], using)]
    by_id = {each.id: each for each in settled}
    for owed in debts:
        if owed.claimed.id not in by_id:
            lease_lost.send_robust(sender=None, kind=owed.claimed.kind)
    return [(owed, by_id.get(owed.claimed.id)) for owed in debts]


def store(owed: Owed, *, patience: timedelta) -> Settled:
    """The settle with what belongs in its transaction. Raises what it meets; then nothing was written."""
    with room(), transaction.atomic(using=owed.using):
        verdict, record = _as_it_stands(owed)
        if record is not None:
            hold(owed.claimed, using=owed.using)
            record()
        (settled,) = settle_within(
            [(owed.claimed, verdict)],
            using=owed.using,
            abandon=owed.abandon,
            patience=patience,
        )
    return settled


def _as_it_stands(owed: Owed) -> tuple[Verdict, Callable[[], object] | None]:
    """The verdict, and what is recorded with it: another one for work that ends its own session each time."""
    if owed.instead is not None and lost_again(owed.claimed, using=owed.using):
        return owed.instead, None
    if owed.losses >= IN_A_ROW and others_stood(owed.claimed.claimed_at, using=owed.using):
        return retry(Broken(CODE), after=AFTER_REFUSAL), None
    return owed.verdict, owed.record


def _unstorable(owed: Owed, raised: Exception) -> Owed:
    """The verdict itself, or what it records, is refused: the attempt failed, and that is owed instead."""
    failed = retry(broken_by(raised), after=AFTER_REFUSAL)
    return Owed(owed.claimed, failed, owed.using, owed.abandon)
