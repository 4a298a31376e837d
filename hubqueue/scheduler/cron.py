"""When a cron expression ticks, in real instants. The rule at the change of clocks is in docs/scheduler.md.

``cronsim`` reads the expression; the walk over the calendar is ours, because it loses its place where clocks
change by half an hour (Australia/Lord_Howe).
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

FIELDS = 5
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
FIRST_WINDOW = timedelta(hours=1)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
NEVER = datetime.max.replace(tzinfo=UTC)
FAR = timedelta(days=50 * 366)


def zone_problem(timezone: str) -> str | None:
    """Why ``timezone`` is no time zone, as a sentence without its end; None when it is one."""
    try:
        ZoneInfo(timezone)
    except (OSError, ValueError, LookupError, TypeError):
        return (
            "timezone must be a name of the IANA database such as 'Europe/Berlin',"
            f" got {timezone!r}"
        )
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
    """The first tick later than ``after``, in UTC; ``NEVER`` when there is none in fifty years."""
    return next(_ticks(cron, timezone, after), NEVER)


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
    fields = _parse(cron)
    zone = ZoneInfo(timezone)
    last = after.astimezone(UTC)
    end = last + FAR
    walk = _by_interval if _is_interval(fields) else _by_wall_clock
    for tick in walk(fields, zone, last, end):
        # Two skipped wall clock times may fall on the same instant, and earlier ones come along.
        if tick > last:
            last = tick
            yield tick


@lru_cache(maxsize=1024)
def _parse(cron: str) -> CronSim:
    return CronSim(cron, LONG_AGO)


def _is_interval(fields: CronSim) -> bool:
    """Whether the minute or the hour starts with ``*``: such a cron counts real time, as Debian's does."""
    return fields.parts[1].startswith("*") or fields.parts[2].startswith("*")


def _is_on(fields: CronSim, day: date) -> bool:
    return day.month in fields.months and fields.match_day(day)


def _by_interval(
    fields: CronSim, zone: ZoneInfo, after: datetime, end: datetime
) -> Iterator[datetime]:
    """Every real minute whose local reading matches: a doubled hour counts twice, a skipped one not."""
    moment = after.replace(second=0, microsecond=0) + MINUTE
    while moment < end:
        local = moment.astimezone(zone)
        if not _is_on(fields, local.date()):
            moment = max(moment + MINUTE, first_instant(local.date() + DAY, time(), zone))
            continue
        if local.hour in fields.hours and local.minute in fields.minutes:
            yield moment
        moment += MINUTE


def _by_wall_clock(
    fields: CronSim, zone: ZoneInfo, after: datetime, end: datetime
) -> Iterator[datetime]:
    """Every local time that matches, once: the first of a doubled one, a skipped one as soon as time goes on."""
    times = [
        time(hour, minute) for hour in sorted(fields.hours) for minute in sorted(fields.minutes)
    ]
    day = after.astimezone(zone).date() - DAY
    while day <= end.date():
        if _is_on(fields, day):
            for each in times:
                yield first_instant(day, each, zone)
        day += DAY


def first_instant(day: date, wall_clock: time, zone: ZoneInfo) -> datetime:
    """The first instant at which the clocks of ``zone`` show that time, or the first they show after it."""
    local = datetime.combine(day, wall_clock)
    while True:
        instant = local.replace(tzinfo=zone).astimezone(UTC)
        if instant.astimezone(zone).replace(tzinfo=None) == local:
            return instant
        local += MINUTE
