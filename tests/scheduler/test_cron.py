"""Ticks in the nights the clocks change, against instants worked out by hand."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubqueue.scheduler.cron import cron_problem, newest_ticks, next_tick, zone_problem

BERLIN, NEW_YORK, LOS_ANGELES = "Europe/Berlin", "America/New_York", "America/Los_Angeles"
LORD_HOWE, APIA = "Australia/Lord_Howe", "Pacific/Apia"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks(cron: str, zone: str, after: str, until: str) -> list[datetime]:
    return newest_ticks(cron, zone, after=utc(after), until=utc(until), most=10_000)


FIXED = [
    # Berlin, clocks go from 02:00 to 03:00 on 29 March: the skipped 02:30 fires at 03:00.
    (
        "30 2 * * *",
        BERLIN,
        "2026-03-28",
        ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"],
    ),
    # From 03:00 back to 02:00 on 25 October: the doubled 02:30 fires in its first pass only.
    (
        "30 2 * * *",
        BERLIN,
        "2026-10-24",
        ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"],
    ),
    # Not touched by the change, and not an hour late on its day.
    (
        "4 16 * * *",
        BERLIN,
        "2025-03-29",
        ["2025-03-29T15:04", "2025-03-30T14:04", "2025-03-31T14:04"],
    ),
    (
        "4 16 * * *",
        NEW_YORK,
        "2025-03-08",
        ["2025-03-08T21:04", "2025-03-09T20:04", "2025-03-10T20:04"],
    ),
    (
        "30 2 * * *",
        NEW_YORK,
        "2026-03-07",
        ["2026-03-07T07:30", "2026-03-08T07:00", "2026-03-09T06:30"],
    ),
    (
        "30 1 * * *",
        NEW_YORK,
        "2026-10-31",
        ["2026-10-31T05:30", "2026-11-01T05:30", "2026-11-02T06:30"],
    ),
    (
        "30 2 * * *",
        LOS_ANGELES,
        "2026-03-07",
        ["2026-03-07T10:30", "2026-03-08T10:00", "2026-03-09T09:30"],
    ),
    (
        "30 1 * * *",
        LOS_ANGELES,
        "2026-10-31",
        ["2026-10-31T08:30", "2026-11-01T08:30", "2026-11-02T09:30"],
    ),
    # Half an hour only: 02:15 does not exist on 4 October, 01:45 comes twice on 5 April.
    (
        "15 2 * * *",
        LORD_HOWE,
        "2026-10-02T12:00",
        ["2026-10-02T15:45", "2026-10-03T15:30", "2026-10-04T15:15"],
    ),
    (
        "45 1 * * *",
        LORD_HOWE,
        "2026-04-03T12:00",
        ["2026-04-03T14:45", "2026-04-04T14:45", "2026-04-05T15:15"],
    ),
    # A whole day is missing, 30 December 2011: its noon fires when the next day begins.
    (
        "0 12 * * *",
        APIA,
        "2011-12-29T12:00",
        ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
    ),
]


@pytest.mark.parametrize(("cron", "zone", "start", "expected"), FIXED)
def test_a_skipped_time_fires_once_and_a_doubled_one_once(
    cron: str, zone: str, start: str, expected: list[str]
) -> None:
    found = ticks(cron, zone, start, expected[-1])
    assert found == [utc(each) for each in expected]


def test_two_times_skipped_together_fire_once() -> None:
    found = ticks("0,30 2 * * *", BERLIN, "2026-03-29", "2026-03-29T12:00")
    assert found == [utc("2026-03-29T01:00")]


def test_the_second_pass_of_a_doubled_hour_fires_nothing_that_the_first_did() -> None:
    # 02:10 for the second time, one hour after the tick at 02:30 for the first time would come "next".
    assert next_tick("30 2 * * *", BERLIN, utc("2026-10-25T01:10")) == utc("2026-10-26T01:30")


def test_an_hourly_cron_has_25_ticks_an_hour_apart_on_the_day_of_25_hours() -> None:
    found = ticks("0 * * * *", LOS_ANGELES, "2026-11-01T06:59", "2026-11-02T07:59")
    assert len(found) == 25
    assert {b - a for a, b in itertools.pairwise(found)} == {timedelta(hours=1)}
    assert found[0] == utc("2026-11-01T07:00")


def test_an_hourly_cron_has_23_ticks_an_hour_apart_on_the_day_of_23_hours() -> None:
    found = ticks("0 * * * *", BERLIN, "2026-03-28T22:59", "2026-03-29T21:59")
    assert len(found) == 23
    assert {b - a for a, b in itertools.pairwise(found)} == {timedelta(hours=1)}


@pytest.mark.parametrize(
    ("zone", "after"),
    [
        (BERLIN, "2026-10-25T00:00"),
        (NEW_YORK, "2026-11-01T05:00"),
        (LOS_ANGELES, "2026-03-08T09:00"),
        (LORD_HOWE, "2026-04-04T14:00"),
    ],
)
def test_every_quarter_of_an_hour_stays_so_while_the_clocks_change(zone: str, after: str) -> None:
    found = newest_ticks(
        "*/15 * * * *", zone, after=utc(after), until=utc(after) + timedelta(hours=3), most=99
    )
    assert found == [utc(after) + timedelta(minutes=15 * n) for n in range(1, 13)]


def test_clocks_that_change_by_half_an_hour_leave_no_minute_out() -> None:
    # 02:00 comes after 01:59 for the second time: at 15:30 UTC.
    found = ticks("*/10 2 * * *", LORD_HOWE, "2026-04-04T12:00", "2026-04-04T18:00")
    assert found == [
        utc(f"2026-04-04T{at}") for at in ("15:30", "15:40", "15:50", "16:00", "16:10", "16:20")
    ]


CRONS = [
    "* * * * *",
    "*/7 */3 * * *",
    "0 */2 * * *",
    "*/10 1 * * *",
    "*/10 2 * * *",
    "30 2 * * *",
    "0,30 1,2,3 * * *",
    "0 * * * *",
    "15 1-3 * * *",
    "0 2 * * 0",
    "0 0 1 * *",
    "59 23 L * *",
]
CHANGES = [
    (BERLIN, "2026-03-29T01:00"),
    (BERLIN, "2026-10-25T01:00"),
    (NEW_YORK, "2026-03-08T07:00"),
    (NEW_YORK, "2026-11-01T06:00"),
    (LORD_HOWE, "2026-10-03T15:30"),
    (LORD_HOWE, "2026-04-04T15:00"),
    (APIA, "2011-12-30T10:00"),
    ("UTC", "2026-01-01T00:00"),
]


@settings(deadline=None)
@given(
    cron=st.sampled_from(CRONS),
    change=st.sampled_from(CHANGES),
    cuts=st.lists(st.integers(-6 * 3600, 6 * 3600), max_size=6),
)
def test_however_time_is_cut_into_ticks_every_instant_comes_once(
    cron: str, change: tuple[str, str], cuts: list[int]
) -> None:
    zone, moment = change[0], utc(change[1])
    first, last = moment - timedelta(hours=9), moment + timedelta(hours=9)
    bounds = [first, *sorted(moment + timedelta(seconds=cut) for cut in cuts), last]
    pieces = [
        tick
        for after, until in itertools.pairwise(bounds)
        for tick in newest_ticks(cron, zone, after=after, until=until, most=10_000)
    ]
    whole = newest_ticks(cron, zone, after=first, until=last, most=10_000)
    assert pieces == whole
    assert len(set(whole)) == len(whole)


def test_the_newest_ticks_of_ten_years_are_found_from_the_end() -> None:
    found = newest_ticks(
        "* * * * *", BERLIN, after=utc("2016-01-01"), until=utc("2026-01-01T00:00:30"), most=3
    )
    assert found == [utc("2025-12-31T23:58"), utc("2025-12-31T23:59"), utc("2026-01-01T00:00")]


def test_a_tick_eighteen_years_away_is_found() -> None:
    # Five Mondays in the shortest month only happen in leap years that begin on the right day.
    assert next_tick("0 0 * 2 MON#5", "UTC", utc("2026-01-01")) == utc("2044-02-29")


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "* * * * * *", "61 * * * *", "a b c d e", "0 0 31 2 *"]
)
def test_a_malformed_cron_is_named_in_one_sentence(cron: str) -> None:
    problem = cron_problem(cron)
    assert problem is not None
    assert repr(cron) in problem


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../etc/passwd", "europe berlin"])
def test_an_unknown_zone_is_named_in_one_sentence(zone: str) -> None:
    problem = zone_problem(zone)
    assert problem is not None
    assert repr(zone) in problem


@pytest.mark.parametrize("cron", ["0 3 * * *", "*/5 8-18 * * MON-FRI", "0 0 L * *", "0 0 29 2 *"])
def test_a_good_cron_and_zone_have_no_problem(cron: str) -> None:
    assert cron_problem(cron) is None
    assert zone_problem(BERLIN) is None
