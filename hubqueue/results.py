"""What a handler may answer. Answers are values; anything raised is a failed attempt."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from inspect import iscoroutinefunction

from hubqueue.payload import Json


@dataclass(frozen=True, slots=True)
class Done:
    """The work is done. ``result`` is a small JSON value kept on the job.

    ``record`` (detached handlers) runs inside the transaction that stores the completion, after the
    fence was checked: what it writes and the completion are one commit.
    """

    result: Json = None
    record: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        if self.record is not None and iscoroutinefunction(self.record):
            raise TypeError(
                "Done(record=) takes a plain function, got an async def: it runs inside the transaction that"
                " stores the completion"
            )


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run again ``after`` a while or ``at`` a moment (aware), with fresh attempts."""

    after: timedelta | None = None
    at: datetime | None = None

    def __post_init__(self) -> None:
        if (self.after is None) == (self.at is None):
            raise TypeError("Repeat takes exactly one of after= and at=")
        if self.at is not None and self.at.tzinfo is None:
            raise ValueError("Repeat(at=) takes an aware datetime, got a naive one")


@dataclass(frozen=True, slots=True)
class Retry:
    """This attempt did not get through: try again, not before ``after`` (default: the backoff).

    A transactional handler's writes are committed. ``spend=False`` leaves the attempt unspent: for a
    neighbour's outage that says nothing about this job. ``code`` is a short stable word, never data.
    """

    after: timedelta | None = None
    code: str = "retry"
    spend: bool = True


@dataclass(frozen=True, slots=True)
class Dead:
    """Give the job up now: a dead letter with ``code``. A transactional handler's writes commit."""

    code: str


@dataclass(frozen=True, slots=True)
class Park:
    """Set the job aside until a person releases it. ``reason`` is shown to officers."""

    reason: str


Result = Done | Repeat | Retry | Dead | Park
