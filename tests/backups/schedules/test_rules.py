"""A rule fires when its words say, over every night and year that is odd; one that cannot be used is refused."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from backups.errors import RuleRefused
from backups.models import BackupSchedule
from backups.schedules.occurrences import occurrences, owes_full
from backups.schedules.rule import moments, problem

BERLIN = "Europe/Berlin"
ANCHOR = datetime(2026, 1, 7, 13, 20, 45, tzinfo=UTC)  # a Wednesday, 14:20 in Berlin


def told(
    rule: str, after: str, count: int, zone: str = BERLIN, anchor: datetime = ANCHOR
) -> list[str]:
    """The next moments as ``local, offset``."""
    since = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    found = islice(moments(rule, zone, anchor, since), count)
    return [f"{each.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %z}" for each in found]


TABLE = {
    "a time that is skipped fires when time goes on": (
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",
        "2026-03-28 00:00",
        ["2026-03-28 02:30 +0100", "2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"],
    ),
    "so does that of a cron": (
        "30 2 * * *",
        "2026-03-28 00:00",
        ["2026-03-28 02:30 +0100", "2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"],
    ),
    "two times that are skipped fire once": (
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=0,30",
        "2026-03-29 00:00",
        ["2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200"],
    ),
    "a doubled time fires the first time": (
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=30",
        "2026-10-24 12:00",
        ["2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"],
    ),
    "so does that of a cron, too": (
        "30 2 * * *",
        "2026-10-24 12:00",
        ["2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"],
    ),
    "the leap day comes in leap years": (
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYHOUR=1;BYMINUTE=0",
        "2026-02-01 00:00",
        ["2028-02-29 01:00 +0100", "2032-02-29 01:00 +0100"],
    ),
    "the last day of a month is counted from its end": (
        "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=1;BYMINUTE=0",
        "2028-01-31 12:00",
        ["2028-02-29 01:00 +0100", "2028-03-31 01:00 +0200"],
    ),
    "a 31st that is not there is left out": (
        "FREQ=MONTHLY;BYMONTHDAY=31;BYHOUR=1;BYMINUTE=0",
        "2026-01-31 12:00",
        ["2026-03-31 01:00 +0200", "2026-05-31 01:00 +0200"],
    ),
    "week 53 comes in years that have it": (
        "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYHOUR=1;BYMINUTE=0",
        "2026-02-01 00:00",
        ["2026-12-28 01:00 +0100", "2032-12-27 01:00 +0100", "2037-12-28 01:00 +0100"],
    ),
    "what is not named is the anchor's": (
        "FREQ=WEEKLY",
        "2026-03-01 00:00",
        ["2026-03-04 14:20 +0100", "2026-03-11 14:20 +0100"],
    ),
    "intervals count from the anchor": (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=WE",
        "2036-01-01 00:00",
        ["2036-01-09 14:20 +0100", "2036-01-23 14:20 +0100"],
    ),
    "three days are three days across years": (
        "FREQ=DAILY;INTERVAL=3;BYHOUR=0;BYMINUTE=5",
        "2026-12-30 12:00",
        ["2027-01-02 00:05 +0100", "2027-01-05 00:05 +0100"],
    ),
    "the last working day of a month": (
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=20;BYMINUTE=0",
        "2026-01-08 00:00",
        ["2026-01-30 20:00 +0100", "2026-02-27 20:00 +0100"],
    ),
    "a rule ends with its last moment": (
        "FREQ=DAILY;BYHOUR=3;BYMINUTE=0;UNTIL=20260110T020000Z",
        "2026-01-08 12:00",
        ["2026-01-09 03:00 +0100", "2026-01-10 03:00 +0100"],
    ),
    "and with the end of its last day, in the zone": (
        "FREQ=DAILY;BYHOUR=23;BYMINUTE=45;UNTIL=20260109",
        "2026-01-08 12:00",
        ["2026-01-08 23:45 +0100", "2026-01-09 23:45 +0100"],
    ),
    "the prefix of RFC 5545 may stand": (
        "RRULE:FREQ=DAILY;BYHOUR=3;BYMINUTE=0",
        "2026-01-08 12:00",
        ["2026-01-09 03:00 +0100"],
    ),
}


@pytest.mark.parametrize("case", TABLE.values(), ids=list(TABLE))
def test_it_fires_when_it_says(case: tuple[str, str, list[str]]) -> None:
    rule, after, expected = case
    ends = "UNTIL" in rule
    assert told(rule, after, len(expected) + (3 if ends else 0)) == expected


def test_a_night_in_which_clocks_change_by_half_an_hour() -> None:
    found = told("FREQ=DAILY;BYHOUR=2;BYMINUTE=15", "2026-10-03 12:00", 2, "Australia/Lord_Howe")
    assert found == ["2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"]


def test_nothing_fires_before_the_schedule_was_made() -> None:
    assert told("FREQ=DAILY;BYHOUR=14", "2020-01-01 00:00", 1) == ["2026-01-08 14:20 +0100"]


def test_wherever_one_looks_from_the_same_moments_come() -> None:
    """The walk starts near the moment that is asked for: that changes nothing."""
    rules = (
        "FREQ=DAILY;INTERVAL=5",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,SU;BYSETPOS=1",
        "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=-1,15",
        "FREQ=YEARLY;INTERVAL=3;BYDAY=20MO,-1FR",
        "FREQ=YEARLY",
    )
    leap = datetime(2024, 2, 29, 12, tzinfo=UTC)
    for anchor in (ANCHOR, leap):
        for rule in rules:
            through = list(islice(moments(rule, BERLIN, anchor, anchor), 12))
            for earlier, later in pairwise(through):
                assert next(moments(rule, BERLIN, anchor, earlier)) == later, rule
                just_before = later - timedelta(seconds=1)
                assert next(moments(rule, BERLIN, anchor, just_before)) == later, rule


REFUSED = {
    "FREQ=SECONDLY": "FREQ must be one of DAILY, WEEKLY, MONTHLY, YEARLY, got SECONDLY",
    "FREQ=MINUTELY;INTERVAL=5": "got MINUTELY",
    "FREQ=HOURLY": "or as a cron such as '0 */6 * * *'",
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30": "never does",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30": "never does",
    "FREQ=DAILY;INTERVAL=7;BYDAY=TU": "never does",
    "FREQ=YEARLY;INTERVAL=1000": "never does",
    "0 0 30 2 *": "that come true some day",
    "FREQ=DAILY;INTERVAL=99999999999999999999": "INTERVAL must be from 1 to 1000",
    "FREQ=DAILY;INTERVAL=0": "INTERVAL must be from 1 to 1000",
    "* * * * *": "every 5 minutes at most",
    "0,57 * * * *": "every 5 minutes at most",
    "FREQ=DAILY;BYMINUTE=0,4": "every 5 minutes at most",
    "FREQ=DAILY;COUNT=3": "end the rule with UNTIL",
    "FREQ=DAILY;BYSECOND=5": "'BYSECOND' is no part",
    "FREQ=DAILY;FREQ=DAILY": "FREQ must be given once",
    "FREQ=MONTHLY;BYDAY=53MO": "from 1 to 5",
    "FREQ=DAILY;BYDAY=1MO": "BYDAY may have a number",
    "FREQ=DAILY;BYDAY=XX": "BYDAY must be days such as MO",
    "FREQ=YEARLY;BYMONTH=13": "BYMONTH must be from 1 to 12",
    "FREQ=DAILY;BYHOUR=24": "BYHOUR must be from 0 to 23",
    "FREQ=DAILY;UNTIL=tomorrow": "UNTIL must be a day",
    "FREQ=DAILY;UNTIL=20261399": "UNTIL must be a day",
    "FREQ=DAILY\nDTSTART:20260101": "FREQ must be one of",
    "FREQ=DAILY;BYDAY=" + ",".join(["MO"] * 200): "at most 500 characters",
    "every day": "cron must be five fields",
    "": "cron must be five fields",
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("rule", REFUSED, ids=[f"refused {n}" for n in range(len(REFUSED))])
def test_a_rule_that_cannot_be_used_is_refused_in_words_and_soon(rule: str) -> None:
    said = problem(rule, BERLIN, ANCHOR)
    assert said is not None
    assert REFUSED[rule] in said
    with pytest.raises(RuleRefused):
        moments(rule, BERLIN, ANCHOR, ANCHOR)


def test_a_zone_that_there_is_not_is_refused() -> None:
    for zone in ("Europe/Nowhere", "", "../etc/passwd"):
        assert "IANA" in (problem("0 3 * * *", zone, ANCHOR) or ""), zone


def test_every_five_minutes_is_often_enough() -> None:
    assert problem("*/5 * * * *", BERLIN, ANCHOR) is None
    assert problem("0,58 3 * * *", BERLIN, ANCHOR) is None


def full(rule: str, full_rule: str, count: int) -> list[tuple[str, bool]]:
    schedule = BackupSchedule(rule=rule, full_rule=full_rule, zone=BERLIN, created_at=ANCHOR)
    found = occurrences(schedule, ANCHOR, count)
    return [(f"{each.at.astimezone(ZoneInfo(BERLIN)):%a %H:%M}", each.full) for each in found]


def test_a_full_rule_selects_and_adds_nothing() -> None:
    sundays = [
        ("Thu 02:00", False),
        ("Fri 02:00", False),
        ("Sat 02:00", False),
        ("Sun 02:00", True),
    ]
    assert full("0 2 * * *", "FREQ=WEEKLY;BYDAY=SU", 5) == [*sundays, ("Mon 02:00", False)]
    assert full("0 2 * * *", "0 2 * * 0", 5) == [*sundays, ("Mon 02:00", False)]
    # The last until then: a moment between two occurrences makes the earlier one full, once.
    assert full("0 */12 * * *", "0 13 * * 4", 4) == [
        ("Thu 00:00", False),
        ("Thu 12:00", True),
        ("Fri 00:00", False),
        ("Fri 12:00", False),
    ]


def test_what_is_owed_is_full_when_a_full_occurrence_is_among_what_passed() -> None:
    schedule = BackupSchedule(
        rule="0 2 * * *", full_rule="FREQ=WEEKLY;BYDAY=SU", zone=BERLIN, created_at=ANCHOR
    )
    every = occurrences(schedule, ANCHOR, 12)
    for first in range(10):
        for last in range(first, 10):
            since = every[first].at - timedelta(seconds=1)
            passed = every[first : last + 1]
            following = every[last + 1].at
            assert owes_full(schedule, since, following) == any(each.full for each in passed)
    schedule.full_rule = ""
    assert owes_full(schedule, ANCHOR, None)


def test_without_a_full_rule_every_run_is_full() -> None:
    assert all(selected for _, selected in full("0 2 * * *", "", 5))
