"""Run one attempt: decode, call the handler, judge its answer, settle. The same pipeline for workers and tests."""

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import assert_never

import msgspec

from hubqueue import policy
from hubqueue.conf import conf
from hubqueue.errors import (
    Interrupted,
    LeaseLost,
    NoRoom,
    PayloadRefused,
    StopRequested,
    Unanswered,
    UnknownAnswer,
    Unsettled,
)
from hubqueue.lifecycle import detached, transactional
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.connections import begin, broke, discard, is_connection_loss, is_left_open
from hubqueue.lifecycle.context import JobContext, Watch
from hubqueue.lifecycle.failure import Broken, broken_by, code_word, printable
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.losses import loss
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.settle import Settled, Verdict
from hubqueue.lifecycle.work import Work, abandon_of, exhausted
from hubqueue.payload import clean
from hubqueue.results import Dead, Done, Park, Repeat, Result, Retry

ANSWERS: tuple[type, ...] = (Done, Repeat, Retry, Dead, Park)
AFTER_NO_ROOM = timedelta(seconds=5)
Call = Callable[[Callable[[], Result | None]], Result | None]


class Attempt(msgspec.Struct, frozen=True):
    """One attempt about to run. ``call`` invokes the handler; a worker wraps its timeout around it.

    ``nested``: somebody else's transaction is open (a test's), so the connection is not ours to close.
    ``later``: the completion of a detached attempt is not stored but answered as ``Owed``, to be stored with others.
    """

    claimed: Claimed
    work: Work
    using: str
    watch: Watch
    call: Call
    nested: bool = False
    later: bool = False

    @property
    def job(self) -> JobContext:
        return JobContext(self.claimed, self.using, self.work.detached, self.watch)

    @property
    def overdrawn(self) -> bool:
        """Whether the job had no attempt left when it was claimed: then it is given up, not run."""
        return self._exhausted(self.claimed.attempts - 1)

    @property
    def exhausted(self) -> bool:
        """Whether this attempt, if it fails, was the last."""
        return self._exhausted(self.claimed.attempts)

    def _exhausted(self, attempts: int) -> bool:
        if attempts < self.claimed.max_attempts:
            return False
        now = self.claimed.claimed_at
        return exhausted(self.claimed, self.work, attempts=attempts, now=now)


def run(attempt: Attempt) -> Settled | Owed | None:
    """Run an attempt to its end.

    Answers where the job stands; ``Owed`` when the verdict could not be stored yet (the database is away,
    or the row is busy): whoever runs the loop pays it later; None when the attempt lost its job.
    """
    begin(attempt.using)
    if attempt.overdrawn:
        return _pay(attempt, verdicts.give_up_overdrawn())
    try:
        arguments = attempt.work.signature.decode(attempt.claimed.payload)
    except PayloadRefused as refused:
        return _pay(attempt, _failed(attempt, broken_by(refused)))
    job = attempt.job
    invoke = partial(attempt.call, partial(attempt.work.function, job, **arguments))
    perform = (
        partial(detached.perform, later=attempt.later)
        if attempt.work.detached
        else transactional.perform
    )
    try:
        return perform(
            job,
            invoke,
            partial(judge, attempt),
            abandon=abandon_of(attempt.work, using=attempt.using),
            limit=attempt.work.timeout,
        )
    except LeaseLost:
        _let_go(attempt)
        return None
    except transactional.InDoubt as lost:
        instead = _if_again(attempt, lost)
        _let_go(attempt)
        return lost_in_commit(attempt, lost, instead=instead)
    except detached.Unstored as unstored:
        _let_go(attempt)
        return unstored.owed
    except Unsettled as why:
        after = policy.spread(AFTER_NO_ROOM) if isinstance(why, NoRoom) else None
        return Owed(
            attempt.claimed,
            verdicts.hand_back(why.code, after=after),
            attempt.using,
            abandon_of(attempt.work, using=attempt.using),
        )
    except BaseException as raised:
        verdict, instead = _verdict_on(attempt, raised), _if_again(attempt, raised)
        if (
            isinstance(raised, Interrupted | Unanswered)
            or is_connection_loss(raised, attempt.using)
            or is_left_open(attempt.using)
        ):
            _let_go(attempt)
        return _pay(attempt, verdict, instead=instead)


def answer_of(attempt: Attempt) -> Result | None:
    """Call the handler inside somebody's transaction, ``Done.record`` included. Raises what it raises."""
    arguments = attempt.work.signature.decode(attempt.claimed.payload)
    answer = attempt.work.function(attempt.job, **arguments)
    if isinstance(answer, Done) and answer.record is not None:
        answer.record()
    return answer


def lost_in_commit(
    attempt: Attempt, raised: BaseException, *, instead: Verdict | None = None
) -> Settled | Owed | None:
    """COMMIT was sent and its answer lost: read the outcome back, or hand the attempt back."""
    return _pay(attempt, _handed_back(raised), doubt=True, instead=instead)


def interrupted(attempt: Attempt) -> Settled | Owed | None:
    """The worker ended the handler: the attempt is unspent."""
    return _pay(attempt, verdicts.hand_back("interrupted"))


def _let_go(attempt: Attempt) -> None:
    if not attempt.nested:
        discard(attempt.using)


def judge(attempt: Attempt, answer: Result | None) -> Verdict:
    """The verdict that a handler's answer stands for. Raises ``UnknownAnswer`` for anything else."""
    if answer is None:
        return verdicts.succeed()
    if not isinstance(answer, ANSWERS):
        raise UnknownAnswer(
            f"a handler answers None, Done, Repeat, Retry, Dead or Park, got {type(answer).__name__}"
        )
    match answer:
        case Done(result=result):
            return verdicts.succeed(
                None if result is None else clean(result, limit=conf().result_limit)
            )
        case Repeat(after=after, at=at):
            return verdicts.repeat(after=after, at=at)
        case Retry(after=after, code=code, spend=spend):
            return _failed(attempt, Broken(code_word(code) or "retry"), after=after, spend=spend)
        case Dead(code=code):
            return verdicts.give_up(Broken(code_word(code) or "dead"))
        case Park(reason=reason):
            return verdicts.set_aside(printable(reason))
        case _ as other:
            assert_never(other)


def _verdict_on(attempt: Attempt, raised: BaseException) -> Verdict:
    if type(raised) is Interrupted:
        return verdicts.hand_back("interrupted")
    if isinstance(raised, Unanswered) or is_connection_loss(raised, attempt.using):
        return _handed_back(raised)
    if isinstance(raised, StopRequested) and attempt.watch.stop is not None:
        return verdicts.hand_back(StopRequested.code)
    return _failed(attempt, broken_by(raised))


def _if_again(attempt: Attempt, raised: BaseException) -> Verdict | None:
    """The verdict on an attempt whose connection was lost, should it not be the first one in a row."""
    if isinstance(raised, Interrupted | Unanswered) or not broke(raised, attempt.using):
        return None
    return _failed(attempt, loss(raised))


def _failed(
    attempt: Attempt, broken: Broken, *, after: timedelta | None = None, spend: bool = True
) -> Verdict:
    """A failed attempt: another try after the asked wait or the backoff, or giving up."""
    if spend and attempt.exhausted:
        return verdicts.give_up(broken)
    wait = (
        attempt.work.backoff.wait(attempt.claimed.attempts)
        if after is None
        else policy.spread(after)
    )
    return verdicts.retry(broken, after=wait, spend=spend)


def _pay(
    attempt: Attempt, verdict: Verdict, *, doubt: bool = False, instead: Verdict | None = None
) -> Settled | Owed | None:
    return pay(
        Owed(
            attempt.claimed,
            verdict,
            attempt.using,
            abandon_of(attempt.work, using=attempt.using),
            in_doubt=doubt,
            instead=instead,
        )
    )


def _handed_back(raised: BaseException) -> Verdict:
    return verdicts.hand_back(loss(raised), after=_moment())


def _moment() -> timedelta:
    """A short random wait, so that a thousand victims of one restart do not come back in one instant."""
    return timedelta(seconds=0.2 + random.random())
