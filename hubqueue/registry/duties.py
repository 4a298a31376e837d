"""What the leading scheduler does beside enqueueing: duties, each at its cadence."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from hubqueue.registry.known import registry


class Cadence(StrEnum):
    """How often a duty runs: at each tick, or at the first tick of each minute, hour or day (UTC)."""

    TICK = "tick"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Duty:
    """Something the leading scheduler does. It must be idempotent and end within ``deadline``."""

    name: str
    run: Callable[[], object]
    cadence: Cadence
    deadline: timedelta


def duty(
    name: str, *, cadence: Cadence, deadline: timedelta = timedelta(seconds=10)
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Register a function as a duty of the leading scheduler: see ``Duty``."""

    def register(run: Callable[[], object]) -> Callable[[], object]:
        registry.duties[name] = Duty(name, run, cadence, deadline)
        return run

    return register
