"""What the life of a job needs of a handler. The registry is above us, so it is asked for by shape."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from hubqueue import policy
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.settle import Abandon
from hubqueue.payload import Signature
from hubqueue.policy import Backoff
from hubqueue.results import Result

# Runs the redrive hook of a job's kind.
Reopen = Callable[[Claimed], object]


class Work(Protocol):
    """What running needs of a handler."""

    function: Callable[..., Result | None]
    signature: Signature
    detached: bool
    pipeline: bool
    backoff: Backoff
    give_up_after: timedelta | None
    abandon_hook: Callable[[JobContext], object] | None
    redrive_hook: Callable[[JobContext], object] | None

    @property
    def timeout(self) -> timedelta: ...


def abandon_of(work: Work | None, *, using: str) -> Abandon | None:
    """The abandon hook of a kind, bound to the job it is called for."""
    if work is None or work.abandon_hook is None:
        return None
    return partial(_abandon, work, using)


def reopen_of(work: Work | None, *, using: str) -> Reopen | None:
    """The redrive hook of a kind, bound to the job it is called for."""
    if work is None or work.redrive_hook is None:
        return None
    hook = work.redrive_hook
    return lambda claimed: hook(JobContext(claimed, using, work.detached))


def exhausted(claimed: Claimed, work: Work | None, *, attempts: int, now: datetime) -> bool:
    """Whether ``attempts`` failed attempts are all that a job has."""
    return policy.exhausted(
        attempts=attempts,
        max_attempts=claimed.max_attempts,
        failing_since=claimed.failing_since,
        give_up_after=None if work is None else work.give_up_after,
        now=now,
    )


def _abandon(work: Work, using: str, claimed: Claimed) -> object:
    assert work.abandon_hook is not None
    return work.abandon_hook(JobContext(claimed, using, work.detached))
