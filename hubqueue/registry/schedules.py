"""Periodic jobs: which handler is enqueued at which ticks."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from hubqueue.registry.handlers import Handler
from hubqueue.registry.known import registry


class Missed(StrEnum):
    """What a schedule does about ticks that passed while no scheduler led."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A periodic job: ``handler`` is enqueued without arguments once per tick of ``cron`` in ``timezone``.

    ``limit`` bounds how many missed ticks ``Missed.ALL`` catches up (the newest ones).
    """

    name: str
    handler: Handler[[]]
    cron: str
    timezone: str
    missed: Missed
    limit: int


T = TypeVar("T", bound=Handler[[]])


def periodic(
    *,
    cron: str,
    timezone: str = "UTC",
    name: str | None = None,
    missed: Missed = Missed.LATEST,
    limit: int = 100,
) -> Callable[[T], T]:
    """Enqueue the decorated handler (one without required arguments) at every tick of ``cron``."""

    def register(made: T) -> T:
        schedule = Schedule(name or made.kind, made, cron, timezone, missed, limit)
        registry.schedules[schedule.name] = schedule
        return made

    return register
