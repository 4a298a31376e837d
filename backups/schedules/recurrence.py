"""RFC 5545 recurrences of days: read strictly, and walked so that no rule can take long.

``python-dateutil`` does the calendar. It looks for the next day until the year 9999, so a rule without any day would
keep it busy for minutes. The calendar repeats after 400 years to the day of the week: the walk takes place as late
as that allows, which leaves an empty rule four centuries instead of eighty.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

from backups.errors import RuleRefused
from hubqueue.scheduler.cron import FAR, first_instant

ERA = 400
LAST_YEAR = 9999
ROOM = 60
MOST_A_DAY = 96
MOST_INTERVAL = 1000
FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
SHORTER = ("HOURLY", "MINUTELY", "SECONDLY")
# part: (least, most, whether -1 counts from the end)
NUMBERS = {
    "INTERVAL": (1, MOST_INTERVAL, False),
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYSETPOS": (1, 366, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
}
ONLY_OF = {
    "BYWEEKNO": ("YEARLY",),
    "BYYEARDAY": ("YEARLY",),
    "BYMONTHDAY": ("DAILY", "MONTHLY", "YEARLY"),
}
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
NUMBER = re.compile(r"[+-]?[0-9]{1,4}")
DAY = re.compile(r"(?:[+-]?(?P<nth>[0-9]{1,2}))?(?:MO|TU|WE|TH|FR|SA|SU)")
UNTIL = re.compile(r"[0-9]{8}(?:T[0-9]{6}Z)?")


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule that was read. ``text`` has no UNTIL; ``until`` is that, naive and in the schedule's zone when it is
    only a day (``whole_day``), else UTC. ``hours`` and ``minutes`` are empty where the anchor's count.
    """

    text: str
    frequency: str
    interval: int
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    until: datetime | None
    whole_day: bool


@lru_cache(maxsize=1024)
def read(rule: str) -> Recurrence:
    """Raises ``RuleRefused`` with a sentence."""
    parts = _parts(rule.removeprefix("RRULE:"))
    frequency = parts.get("FREQ", "")
    if frequency in SHORTER:
        raise RuleRefused(
            f"FREQ must be one of {', '.join(FREQUENCIES)}, got {frequency};"
            " write what comes several times a day with BYHOUR, or as a cron such as '0 */6 * * *'."
        )
    if frequency not in FREQUENCIES:
        raise RuleRefused(f"FREQ must be one of {', '.join(FREQUENCIES)}, got {frequency!r}.")
    for part, text in parts.items():
        _check(part, text, frequency)
    _check_days(parts, frequency)
    if "BYSETPOS" in parts and not any(each in parts for each in ("BYDAY", *list(NUMBERS)[1:5])):
        raise RuleRefused("BYSETPOS selects from days: name them with BYDAY or BYMONTHDAY, too.")
    hours, minutes = _numbers(parts, "BYHOUR"), _numbers(parts, "BYMINUTE")
    if (len(hours) or 1) * (len(minutes) or 1) > MOST_A_DAY:
        raise RuleRefused(
            f"A rule fires at most {MOST_A_DAY} times a day; write what comes more often as a cron."
        )
    until = parts.pop("UNTIL", None)
    return Recurrence(
        text=";".join(f"{part}={text}" for part, text in parts.items()),
        frequency=frequency,
        interval=int(parts.get("INTERVAL", "1")),
        hours=hours,
        minutes=minutes,
        until=_until(until),
        whole_day=until is not None and "T" not in until,
    )


def walk(rule: Recurrence, zone: ZoneInfo, anchor: datetime, after: datetime) -> Iterator[datetime]:
    """The moments later than ``after`` and ``anchor``, in UTC, ascending, of the next fifty years.

    A day, hour or minute that the rule does not name is the anchor's in ``zone``; intervals count from there.
    """
    last = max(after, anchor).astimezone(UTC)
    end = last + FAR
    start = _near(rule, anchor.astimezone(zone), last.astimezone(zone))
    years = (LAST_YEAR - ROOM - start.year) // ERA * ERA
    for far in rrulestr(rule.text, dtstart=start.replace(year=start.year + years)):
        local = far.replace(year=far.year - years)
        moment = first_instant(local.date(), local.time(), zone)
        if moment > end or _is_over(rule, local, moment):
            return
        # Two skipped local times fall on the same moment; earlier ones come along.
        if moment > last:
            last = moment
            yield moment


def _near(rule: Recurrence, anchor: datetime, after: datetime) -> datetime:
    """The anchor, some intervals later: as near to ``after`` as changes nothing from there on."""
    start = anchor.replace(tzinfo=None, second=0, microsecond=0)
    if rule.frequency in ("DAILY", "WEEKLY"):
        unit = rule.interval * (7 if rule.frequency == "WEEKLY" else 1)
        passed = (after.replace(tzinfo=None) - start).days // unit
        return start + timedelta(days=unit) * max(0, passed - 2)
    # Twelve intervals of months are as many years.
    passed = (after.year - start.year) // rule.interval - 1
    for times in range(passed, 0, -1):
        try:
            return start.replace(year=start.year + times * rule.interval)
        except ValueError:  # 29 February
            continue
    return start


def _is_over(rule: Recurrence, local: datetime, moment: datetime) -> bool:
    if rule.until is None:
        return False
    if rule.whole_day:
        return local.date() > rule.until.date()
    return moment > rule.until.replace(tzinfo=UTC)


def _parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for each in text.split(";"):
        part, equals, value = each.partition("=")
        if not equals or not value:
            raise RuleRefused(
                "A rule must be parts such as 'FREQ=WEEKLY;BYDAY=SU', each once, or a cron of five fields."
            )
        if part in parts:
            raise RuleRefused(f"{part} must be given once, got it twice.")
        parts[part] = value
    return parts


def _check(part: str, text: str, frequency: str) -> None:
    if frequency not in ONLY_OF.get(part, FREQUENCIES):
        raise RuleRefused(f"{part} is for FREQ={' or '.join(ONLY_OF[part])}, got {frequency}.")
    if part == "COUNT":
        raise RuleRefused("COUNT is not counted here: end the rule with UNTIL, or switch it off.")
    if part in NUMBERS:
        least, most, from_end = NUMBERS[part]
        for each in text.split("," if part != "INTERVAL" else "\n"):
            number = int(each) if NUMBER.fullmatch(each) else None
            if number is None or not least <= (abs(number) if from_end else number) <= most:
                backwards = ", or counted from the end with a minus" if from_end else ""
                raise RuleRefused(
                    f"{part} must be from {least} to {most}{backwards}, got {each!r}."
                )
    elif part == "UNTIL":
        _until(text)
    elif part == "WKST":
        if text not in DAYS:
            raise RuleRefused(f"WKST must be one of {', '.join(DAYS)}, got {text!r}.")
    elif part not in ("FREQ", "BYDAY"):
        raise RuleRefused(f"{part!r} is no part of a rule that is read here.")


def _check_days(parts: dict[str, str], frequency: str) -> None:
    """Which one of a year or of a month, as long as there can be that many."""
    in_months = frequency == "MONTHLY" or "BYMONTH" in parts
    most = 0 if frequency not in ("MONTHLY", "YEARLY") else 5 if in_months else 53
    for each in parts["BYDAY"].split(",") if "BYDAY" in parts else ():
        found = DAY.fullmatch(each)
        if found is None:
            raise RuleRefused(f"BYDAY must be days such as MO or -1SU, got {each!r}.")
        if found["nth"] is not None and not 1 <= int(found["nth"]) <= most:
            raise RuleRefused(
                "BYDAY may have a number: with FREQ=MONTHLY or BYMONTH from 1 to 5, with FREQ=YEARLY"
                f" from 1 to 53, got {each!r}."
            )


def _numbers(parts: dict[str, str], part: str) -> tuple[int, ...]:
    return tuple(sorted({int(each) for each in parts[part].split(",")})) if part in parts else ()


def _until(text: str | None) -> datetime | None:
    if text is None:
        return None
    form = "%Y%m%dT%H%M%SZ" if "T" in text else "%Y%m%d"
    try:
        if UNTIL.fullmatch(text):
            return datetime.strptime(text, form)  # noqa: DTZ007 - the zone depends on the form
    except ValueError:
        pass
    raise RuleRefused(f"UNTIL must be a day 20270131 or a moment 20270131T120000Z, got {text!r}.")
