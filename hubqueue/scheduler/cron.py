"""When a cron expression ticks, in real instants. The rule at the change of clocks is in docs/scheduler.md."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

FIELDS = 5
FIRST_WINDOW = timedelta(hours=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def zone_problem(timezone: str) -> str | None:
    """Why ``timezone`` is no time zone, as a sentence without its end; None when it is one."""
    try:
        ZoneInfo(timezone)
    except (OSError, ValueError, LookupError, TypeError):
        return f"timezone must be a name of the IANA database such as 'Europe/Berlin', got {timezone!r}"
    return None


def cron_problem(cron: str) -> str | None:
    """Why ``cron`` is no cron expression, as a sentence without its end; None when it is one."""
    expected = "cron must be five fields (minute hour day month weekday) that come true some day"
    if len(cron.split()) != FIELDS:
        return f"{expected}, got {cron!r}"
    try:
        next(CronSim(cron, LONG_AGO))
    except CronSimError as refused:
        return f"{expected}, got {cron!r} ({refused})"
    except StopIteration:
        return f"{expected}, got {cron!r}, which never does"
    return None


@lru_cache(maxsize=4096)
def next_tick(cron: str, timezone: str, after: datetime) -> datetime:
    """The first tick later than ``after``, in UTC."""
    return next(_ticks(cron, timezone, after))


def newest_ticks(
    cron: str, timezone: str, *, after: datetime, until: datetime, most: int
) -> list[datetime]:
    """The newest ``most`` ticks in ``(after, until]``, oldest first, in UTC.

    Looks back from ``until`` in windows that double, so that the cost follows ``most`` and not the length
    of the gap.
    """
    if after >= until or next_tick(cron, timezone, after) > until:
        return []
    window = FIRST_WINDOW
    while True:
        start = max(after, until - window)
        found = _between(cron, timezone, start, until)
        if len(found) >= most or start == after:
            return found[-most:]
        window *= 2


def _between(cron: str, timezone: str, after: datetime, until: datetime) -> list[datetime]:
    found = []
    for tick in _ticks(cron, timezone, after):
        if tick > until:
            break
        found.append(tick)
    return found


def _ticks(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """All ticks later than ``after``, ascending, each instant once."""
    last = after.astimezone(UTC)
    for local in CronSim(cron, after.astimezone(ZoneInfo(timezone))):
        tick = local.astimezone(UTC)
        # In the second pass of a doubled hour the first tick found may lie in the first pass.
        if tick > last:
            last = tick
            yield tick
