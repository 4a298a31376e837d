"""When a duty is due again: pure arithmetic on moments of the database's clock."""

from datetime import UTC, datetime

from hubqueue.registry import Cadence


def is_due(
    cadence: Cadence, now: datetime, *, ran_at: datetime | None, succeeded_at: datetime | None
) -> bool:
    """Whether a duty runs at the tick of ``now``.

    At each tick, or at the first one of a minute, hour or day (UTC). One that failed is tried again in the
    next minute and does not wait for its next hour or day.
    """
    if cadence is Cadence.TICK or ran_at is None:
        return True
    # Unequal, not later: a clock that was set back must not silence a duty until it has caught up.
    if _start(cadence, now) != _start(cadence, ran_at):
        return True
    failed = succeeded_at is None or succeeded_at < ran_at
    return failed and _start(Cadence.MINUTE, now) != _start(Cadence.MINUTE, ran_at)


def _start(cadence: Cadence, moment: datetime) -> datetime:
    minute = moment.astimezone(UTC).replace(second=0, microsecond=0)
    if cadence is Cadence.DAY:
        return minute.replace(hour=0, minute=0)
    return minute.replace(minute=0) if cadence is Cadence.HOUR else minute
