"""Rules of schedules, a cron or an RFC 5545 recurrence: whether they can be used, and when they fire.

Where clocks change: a time of day that is skipped fires at the next moment that exists, a doubled one the first time.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim

from backups.errors import RuleRefused
from backups.schedules import recurrence
from hubqueue.scheduler.cron import LONG_AGO, NEVER, cron_problem, next_tick, zone_problem

LONGEST = 500
LEAST_MINUTES = 5
DAY_MINUTES = 24 * 60


def problem(rule: str, zone: str, anchor: datetime) -> str | None:
    """Why a schedule cannot have this rule, as a sentence; None when it can."""
    try:
        check(rule, zone, anchor)
    except RuleRefused as refused:
        return str(refused)
    return None


@lru_cache(maxsize=1024)
def check(rule: str, zone: str, anchor: datetime) -> None:
    """Raises ``RuleRefused`` when the rule cannot be read, fires too often, or never (within fifty years)."""
    _read(rule, zone)
    if not _is_apart(_times(rule)):
        raise RuleRefused(
            f"A rule fires every {LEAST_MINUTES} minutes at most, got one that fires more often."
        )
    endless = ";".join(each for each in rule.split(";") if not each.startswith("UNTIL="))
    if next(_walk(endless, zone, anchor, anchor), None) is None:
        raise RuleRefused("A rule must come true within fifty years, got one that never does.")


def moments(rule: str, zone: str, anchor: datetime, after: datetime) -> Iterator[datetime]:
    """When the rule fires later than ``after`` and ``anchor``, in UTC, ascending, for fifty years.

    Raises ``RuleRefused`` for one that ``check`` refuses.
    """
    check(rule, zone, anchor)
    return _walk(rule, zone, anchor, after)


def _walk(rule: str, zone: str, anchor: datetime, after: datetime) -> Iterator[datetime]:
    if "=" in rule:
        return recurrence.walk(recurrence.read(rule), ZoneInfo(zone), anchor, after)
    return _ticks(rule, zone, max(anchor, after).astimezone(UTC))


def _ticks(rule: str, zone: str, after: datetime) -> Iterator[datetime]:
    while (after := next_tick(rule, zone, after)) != NEVER:
        yield after


def _read(rule: str, zone: str) -> None:
    if wrong := zone_problem(zone):
        raise RuleRefused(f"{wrong}.")
    if len(rule) > LONGEST:
        raise RuleRefused(f"A rule has at most {LONGEST} characters, got {len(rule)}.")
    if "=" in rule:
        recurrence.read(rule)
    elif wrong := cron_problem(rule):
        raise RuleRefused(f"{wrong}.")


def _times(rule: str) -> list[int]:
    """The minutes of a day at which the rule may fire."""
    if "=" not in rule:
        fields = CronSim(rule, LONG_AGO)
        return [
            60 * hour + minute for hour in sorted(fields.hours) for minute in sorted(fields.minutes)
        ]
    read = recurrence.read(rule)
    return [60 * hour + minute for hour in read.hours or (0,) for minute in read.minutes or (0,)]


def _is_apart(times: list[int]) -> bool:
    """Also from the last of a day to the first of the next."""
    following = [*times[1:], times[0] + DAY_MINUTES]
    return all(
        timedelta(minutes=later - each) >= timedelta(minutes=LEAST_MINUTES)
        for each, later in zip(times, following, strict=True)
    )
