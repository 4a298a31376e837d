"""Settle: end an attempt. Named verdicts feed one guarded statement; nothing else leaves RUNNING."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from django.db import OperationalError, transaction

from hubqueue.errors import LeaseLost, RowBusy
from hubqueue.ids import uuid7
from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.failure import Broken, broken_by, record_failure
from hubqueue.lifecycle.guard import ROW_BUSY, Attempted, Claimed, fenced, settled_and_committed
from hubqueue.lifecycle.sql import sql
from hubqueue.signals import Ending, jobs_settled, lease_lost
from hubqueue.states import Move, State

UNHURRIED = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ends. Made by the functions below, which say what each means."""

    move: Move
    wait: timedelta | None = None
    at: datetime | None = None
    spend: bool = True
    code: str | None = None
    reason: str | None = None
    result: str | None = None
    suspect: bool | None = False
    broken: Broken | None = None


PLAIN_SUCCESS = Verdict(Move.SUCCEED)


def succeed(result: str | None = None) -> Verdict:
    """The work is done; ``result`` is JSON text."""
    return PLAIN_SUCCESS if result is None else Verdict(Move.SUCCEED, result=result)


def repeat(*, after: timedelta | None = None, at: datetime | None = None) -> Verdict:
    """The work is done and is to be done again."""
    return Verdict(Move.REPEAT, wait=after, at=at)


def is_last_word(verdict: Verdict) -> bool:
    """Whether nothing is written in the settle's transaction after the settle itself: no failure, hook or successor."""
    return verdict.move is Move.SUCCEED


def retry(broken: Broken, *, after: timedelta, spend: bool = True) -> Verdict:
    """The attempt failed; try again ``after`` a while."""
    return Verdict(Move.RETRY, wait=after, spend=spend, code=broken.code, broken=broken)


def give_up(broken: Broken, *, spend: bool = True) -> Verdict:
    """Give the job up: a dead letter."""
    return Verdict(Move.GIVE_UP, code=broken.code, broken=broken, spend=spend)


def give_up_overdrawn() -> Verdict:
    """No attempt was left at the claim: a dead letter with the code of the last failure, without running."""
    return Verdict(Move.GIVE_UP, spend=False, suspect=None)


def set_aside(reason: str) -> Verdict:
    """Park the job until a person releases it."""
    return Verdict(Move.SET_ASIDE, reason=reason[:200], spend=False)


def hand_back(why: str | Broken | None = None, *, after: timedelta | None = None) -> Verdict:
    """The attempt did not take place, or says nothing about the job: back to READY, unspent."""
    broken = Broken(why) if isinstance(why, str) else why
    code = broken.code if broken else None
    return Verdict(Move.HAND_BACK, wait=after, spend=False, code=code, suspect=None, broken=broken)


def rescue(
    broken: Broken | None, *, after: timedelta | None, spend: bool, suspect: bool | None
) -> Verdict:
    """The worker is gone: back to READY, never to a dead letter."""
    code = broken.code if broken else None
    return Verdict(Move.RESCUE, wait=after, spend=spend, code=code, suspect=suspect, broken=broken)


class Settled(msgspec.Struct, frozen=True, array_like=True):
    """Where the job stands after its attempt. ``abandoned`` = given up for good by this move.

    ``successor``: a wake-up is still pending on the row.
    """

    id: UUID
    state: State
    attempts: int
    run_at: datetime
    successor: bool
    settled_at: datetime

    @property
    def abandoned(self) -> bool:
        return self.state in (State.DEAD, State.CANCELLED)


# Runs the abandon hook of a job's kind.
Abandon = Callable[[Claimed], object]


def settle(
    claimed: Claimed,
    verdict: Verdict,
    *,
    using: str,
    abandon: Abandon | None = None,
    patience: timedelta = UNHURRIED,
) -> Settled:
    """Settle one attempt, in one transaction with the failure row, the abandon hook and the successor.

    Inside an open transaction it is a savepoint. Raises ``LeaseLost``, or ``RowBusy`` when somebody held
    the row's lock for longer than ``patience``; then nothing was written.
    """
    with transaction.atomic(using=using):
        return settle_within([(claimed, verdict)], using=using, abandon=abandon, patience=patience)[
            0
        ]


def settle_within(
    ended: Sequence[tuple[Claimed, Verdict]],
    *,
    using: str,
    abandon: Abandon | None = None,
    patience: timedelta = UNHURRIED,
    all_or_nothing: bool = True,
    commit: bool = False,
) -> list[Settled]:
    """Settle attempts by one statement, in the transaction that the caller has open and rolls back if this raises.

    With ``commit``, for verdicts of ``is_last_word`` only, the statement commits that transaction as well.
    Answers in the order of ``ended``; without ``all_or_nothing`` what was lost is left out.
    """
    settled = _update(
        ended, using=using, patience=patience, all_or_nothing=all_or_nothing, commit=commit
    )
    endings = []
    for claimed, verdict, now in settled:
        if verdict.broken is not None:
            record_failure(
                claimed,
                verdict.broken,
                spent=verdict.spend,
                failed_at=now.settled_at,
                worker=claimed.claimed_by,
                using=using,
            )
        if now.abandoned:
            let_go(claimed, abandon, moment=now.settled_at, using=using)
            if now.successor:
                insert_successor(now.id, using=using)
        endings.append(_ending(claimed, verdict, now))
    if endings:
        transaction.on_commit(partial(_tell, endings), using=using, robust=True)
    return [now for _, _, now in settled]


def let_go(claimed: Claimed, abandon: Abandon | None, *, moment: datetime, using: str) -> None:
    """Run the abandon hook in a savepoint. A hook that raises is rolled back and recorded; the move stands."""
    if abandon is None:
        return
    try:
        with transaction.atomic(using=using):
            abandon(claimed)
            # A hook that swallowed a failed statement would be rolled back without a word.
            transaction.get_connection(using).validate_no_broken_transaction()
    except (Exception, SystemExit) as raised:
        broken = broken_by(raised)
        record_failure(
            claimed,
            Broken(
                "abandon_failed",
                broken.exception,
                broken.sqlstate,
                broken.constraint,
                broken.frames,
                broken.message,
            ),
            spent=False,
            failed_at=moment,
            worker=claimed.claimed_by,
            using=using,
        )


def insert_successor(job_id: UUID, *, using: str) -> None:
    """Insert the new job that serves a wake-up pending on a job that ended without serving it."""
    with connection(using).cursor() as cursor:
        cursor.execute(sql("successor"), {"id": job_id, "new_id": uuid7()})


class Ended(Attempted, omit_defaults=True):
    """A verdict as ``hubqueue_settle`` reads it. ``wait`` in seconds; ``suspect`` None keeps what the row says."""

    move: Move
    wait: float | None = None
    at: datetime | None = None
    spend: bool | None = None
    code: str | None = None
    reason: str | None = None
    result: msgspec.Raw | None = None
    suspect: bool | None = None


def _update(
    ended: Sequence[tuple[Claimed, Verdict]],
    *,
    using: str,
    patience: timedelta,
    all_or_nothing: bool,
    commit: bool,
) -> list[tuple[Claimed, Verdict, Settled]]:
    # In the order in which an enqueue of many takes its rows: in any other, the two could deadlock.
    in_order = sorted(ended, key=lambda each: _lock_order(each[0]))
    given = [_ended(claimed, verdict) for claimed, verdict in in_order]
    most = f"{max(1, round(patience.total_seconds() * 1000))}ms"
    try:
        if commit:
            return _all_settled(ended, *settled_and_committed(given, most, using=using))
        rows = fenced("settle", given, most, using=using, all_or_nothing=all_or_nothing)
    except LeaseLost:
        for claimed, _ in ended:
            lease_lost.send_robust(sender=None, kind=claimed.kind)
        raise
    except OperationalError as raised:
        if getattr(raised.__cause__, "sqlstate", None) in ROW_BUSY:
            raise RowBusy("the job's row stayed locked by another transaction") from raised
        raise
    told = {each.id: each for each in msgspec.convert(rows, list[Settled])}
    # Of two attempts of one job only the later can have held it.
    latest = {claimed.id: claimed.fence for claimed, _ in sorted(ended, key=_fence)}
    return [
        (claimed, verdict, told[claimed.id])
        for claimed, verdict in ended
        if claimed.id in told and claimed.fence == latest[claimed.id]
    ]


def _all_settled(
    ended: Sequence[tuple[Claimed, Verdict]], moment: str, others: list[Any]
) -> list[tuple[Claimed, Verdict, Settled]]:
    """What the server left out is SUCCEEDED, as it was claimed."""
    at = datetime.fromisoformat(moment)
    told = {each.id: each for each in msgspec.convert(others, list[Settled])} if others else {}
    return [
        (
            claimed,
            verdict,
            (told and told.get(claimed.id))
            or Settled(claimed.id, State.SUCCEEDED, claimed.attempts, claimed.run_at, False, at),
        )
        for claimed, verdict in ended
    ]


def _fence(ended: tuple[Claimed, Verdict]) -> int:
    return ended[0].fence


def _lock_order(claimed: Claimed) -> tuple[str, str, int]:
    return claimed.kind, claimed.dedupe_key or "", claimed.id.int


def _ended(claimed: Claimed, verdict: Verdict) -> Ended:
    if verdict is PLAIN_SUCCESS:
        return Ended(claimed.id, claimed.fence, Move.SUCCEED)
    return Ended(
        claimed.id,
        claimed.fence,
        verdict.move,
        None if verdict.wait is None else verdict.wait.total_seconds(),
        verdict.at,
        verdict.spend,
        verdict.code,
        verdict.reason,
        None if verdict.result is None else msgspec.Raw(verdict.result.encode()),
        verdict.suspect,
    )


def _ending(claimed: Claimed, verdict: Verdict, now: Settled) -> Ending:
    return Ending(
        claimed.id,
        claimed.kind,
        claimed.queue,
        now.state,
        verdict.move,
        verdict.code or "",
        max(0.0, (now.settled_at - claimed.claimed_at).total_seconds()),
        claimed.attempts,
    )


def _tell(endings: list[Ending]) -> None:
    jobs_settled.send_robust(sender=None, endings=endings)
