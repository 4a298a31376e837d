"""Which archives stay and why: the cases that calendars, clocks and accidents make."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from time import process_time
from zoneinfo import ZoneInfo

import pytest

from backups.retention.archives import Archive, State, Trigger
from backups.retention.plan import Plan
from tests.backups.retention.made import BERLIN, NOW, archive, at, decided
from tests.conftest import CHECKOUT

NOTHING = Plan(0, 0, 0, 0, 0, 1)
DAILY = Plan(0, 30, 0, 0, 0, 1)


def test_each_archive_that_stays_says_every_reason():
    # Thursday 31 December 2026 is in week 53 of 2026, and so are the three days after it.
    archives = [
        archive("a", at(2026, 12, 27, 3)),
        archive("b", at(2026, 12, 31, 3)),
        archive("c", at(2027, 1, 3, 2)),
        archive("d", at(2027, 1, 3, 3)),
        archive("e", at(2027, 1, 4, 3)),
    ]
    stays, gone = decided(archives, Plan(2, 3, 2, 2, 2, 3))
    assert stays == {
        "e": [
            "last 1 of 2",
            "the day 2027-01-04",
            "ISO week 1 of 2027",
            "the month 2027-01",
            "the year 2027",
        ],
        "d": ["last 2 of 2", "the day 2027-01-03", "ISO week 53 of 2026"],
        "b": ["the day 2026-12-31", "the month 2026-12", "the year 2026"],
    }
    assert gone == ["a", "c"]


@pytest.mark.parametrize(
    ("zone", "day"), [("Pacific/Kiritimati", "2026-06-02"), ("Etc/GMT+12", "2026-05-31")]
)
def test_a_day_is_the_day_on_which_the_run_started_in_the_schedules_zone(zone, day):
    stays, _ = decided([archive("a", at(2026, 6, 1, 11, 30))], DAILY, zone=ZoneInfo(zone))
    assert stays == {"a": [f"the day {day}"]}


@pytest.mark.parametrize("night", [(2026, 3, 29), (2026, 10, 25)])
def test_no_day_at_a_change_of_clocks_is_without_its_archive(night):
    days = [datetime(*night, tzinfo=BERLIN) + timedelta(days=n) for n in (-1, 0, 1)]
    archives = [
        archive(f"{each:%m-%d} {hour}", each.replace(hour=hour, minute=minute))
        for each in days
        for hour, minute in ((0, 30), (23, 45))
    ]
    stays, gone = decided(archives, DAILY, zone=BERLIN)
    assert stays == {f"{each:%m-%d} 23": [f"the day {each:%Y-%m-%d}"] for each in days}
    assert gone == [f"{each:%m-%d} 0" for each in days]


def test_of_an_hour_that_comes_twice_the_second_is_the_newer():
    archives = [
        archive("z", at(2026, 10, 25, 2, 30, zone=BERLIN, fold=0)),
        archive("a", at(2026, 10, 25, 2, 10, zone=BERLIN, fold=1)),
    ]
    assert decided(archives, DAILY, zone=BERLIN) == ({"a": ["the day 2026-10-25"]}, ["z"])


def test_a_clock_that_goes_back_past_midnight_makes_no_second_day():
    # At 00:01 on 7 November 2010 the clocks of St John's went back to 23:01 of the 6th.
    zone = ZoneInfo("America/St_Johns")
    first = at(2010, 11, 7, 0, 0, 30, zone=zone, fold=0)
    archives = [archive(str(n), first + timedelta(minutes=n)) for n in (-5, 0, 5, 62)]
    stays, _ = decided(archives, DAILY, zone=zone)
    assert stays == {"62": ["the day 2010-11-07"], "5": ["the day 2010-11-06"]}


def test_a_run_belongs_to_the_day_of_its_start_and_not_of_its_end():
    # From 23:50 to 00:20, and the one of the next night.
    archives = [archive(f"{d}", at(2026, 6, d, 23, 50, zone=BERLIN)) for d in (1, 2)]
    stays, _ = decided(archives, DAILY, zone=BERLIN)
    assert stays == {"1": ["the day 2026-06-01"], "2": ["the day 2026-06-02"]}


def test_29_february_is_a_day_of_its_own_and_of_february():
    archives = [archive(f"{m}-{d}", at(2028, m, d)) for m, d in ((2, 28), (2, 29), (3, 1))]
    stays, _ = decided(archives, Plan(0, 5, 0, 5, 0, 1), now=at(2028, 3, 2))
    assert stays["2-29"] == ["the day 2028-02-29", "the month 2028-02"]
    assert stays["2-28"] == ["the day 2028-02-28"]


def test_days_without_an_archive_use_up_no_place():
    archives = [archive(str(n), NOW - timedelta(days=100 * n)) for n in range(5)]
    stays, gone = decided(archives, Plan(0, 3, 0, 0, 0, 1))
    assert (list(stays), gone) == (["0", "1", "2"], ["4", "3"])


def test_of_two_archives_at_one_instant_the_greater_id_is_the_newer_in_any_order():
    a, b = archive("a", NOW), archive("b", NOW)
    assert decided([a, b], DAILY) == decided([b, a], DAILY)
    assert decided([a, b], DAILY) == ({"b": ["the day 2027-01-05"]}, ["a"])


def test_a_fortnight_of_failures_deletes_no_good_archive():
    good = [archive(f"good {n}", NOW - timedelta(days=20 + n)) for n in range(5)]
    bad = [
        archive("failed", NOW - timedelta(days=19), state=State.FAILED),
        archive("empty", NOW - timedelta(days=10), verified=False),
        archive("unfinished", NOW - timedelta(days=5), state=State.UNFINISHED),
        archive("running", NOW, state=State.RUNNING),
    ]
    stays, gone = decided(good + bad, Plan(1, 2, 0, 0, 0, 3))
    assert stays == {
        "running": ["running: never touched"],
        "unfinished": ["unfinished: never touched"],
        "empty": ["not verified: counts for nothing, never touched"],
        "failed": ["failed: never touched"],
        "good 0": ["last 1 of 1", "the day 2026-12-16"],
        "good 1": ["the day 2026-12-15"],
        "good 2": ["floor: at least 3 stay"],
    }
    assert gone == ["good 4", "good 3"]


def test_foreign_archives_are_not_touched_and_count_for_nothing():
    archives = [
        archive("stranger", NOW, state=State.FOREIGN),
        archive("tenant", NOW, scope="t7"),
        archive("attic", NOW, target="attic"),
        archive("ours", NOW - timedelta(days=9)),
    ]
    stays, gone = decided(archives, NOTHING)
    assert stays == {
        "tenant": ["of another scope: never touched"],
        "stranger": ["foreign: never touched"],
        "attic": ["at another target: never touched"],
        "ours": ["floor: at least 1 stay"],
    }
    assert gone == []


def test_every_ancestor_of_what_stays_stays():
    archives = [
        archive("full", at(2026, 6, 1)),
        archive("mon", at(2026, 6, 2), parent="full"),
        archive("tue", at(2026, 6, 3), parent="mon"),
        archive("other", at(2026, 6, 3), parent="mon"),
    ]
    stays, gone = decided(archives, NOTHING)
    assert stays == {
        "tue": ["floor: at least 1 stay"],
        "mon": ["parent of tue"],
        "full": ["parent of mon"],
    }
    assert gone == ["other"]


def test_what_runs_waits_or_is_pinned_keeps_its_parent_and_what_failed_does_not():
    archives = [
        archive("for running", at(2026, 1, 1)),
        archive("for pinned", at(2026, 1, 2)),
        archive("for failed", at(2026, 1, 3)),
        archive("last", at(2026, 1, 4)),
        archive("running", NOW, state=State.RUNNING, parent="for running"),
        archive("failed", NOW, state=State.FAILED, parent="for failed"),
        archive("pinned", at(2026, 1, 3), parent="for pinned", pinned_until=at(2027, 2, 1)),
    ]
    stays, gone = decided(archives, NOTHING)
    assert gone == ["for failed"]
    assert stays["for running"] == ["parent of running"]
    assert stays["for pinned"] == ["parent of pinned"]


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.PRE_RESTORE])
def test_what_a_person_started_stays_for_thirty_days_and_not_an_instant_longer(trigger):
    pinned = archive("pinned", NOW - timedelta(days=30), trigger=trigger)
    archives = [pinned, archive("last", NOW)]
    just_before = NOW - timedelta(microseconds=1)
    stays, _ = decided([pinned, archive("last", just_before)], NOTHING, now=just_before)
    assert stays["pinned"] == ["pinned until 2027-01-05 12:00+00:00"]
    assert decided(archives, NOTHING)[1] == ["pinned"]


def test_a_pin_of_a_person_outlasts_the_thirty_days():
    until = at(2027, 7, 1, 12)
    old = archive("old", at(2020, 1, 1), trigger=Trigger.MANUAL, pinned_until=until)
    stays, _ = decided([old, archive("last", NOW)], NOTHING, zone=BERLIN)
    assert stays["old"] == ["pinned until 2027-07-01 14:00+02:00"]


def test_a_pin_of_a_person_does_not_shorten_the_thirty_days():
    pinned = archive("p", NOW, trigger=Trigger.MANUAL, pinned_until=NOW + timedelta(days=1))
    in_a_week = NOW + timedelta(days=7)
    stays, _ = decided([pinned, archive("last", in_a_week)], NOTHING, now=in_a_week)
    assert stays["p"] == ["pinned until 2027-02-04 12:00+00:00"]


def test_a_clock_that_was_ahead_once_costs_no_good_archive():
    # A run of a day when the clock said 2036 must not take the one place from all that come after it.
    archives = [
        archive("2036", at(2036, 1, 1)),
        archive("old", NOW - timedelta(days=1)),
        archive("new", NOW),
    ]
    stays, gone = decided(archives, Plan(1, 0, 0, 0, 0, 1))
    assert stays == {
        "2036": ["started later than now: counts for nothing until then, not touched"],
        "new": ["last 1 of 1"],
    }
    assert gone == ["old"]


def test_an_archive_that_cannot_be_restored_displaces_none_that_can():
    archives = [
        archive("good", at(2026, 6, 1)),
        archive("unsound", at(2026, 6, 2), verified=False),
        archive("on unsound", at(2026, 6, 3), parent="unsound"),
        archive("orphan", at(2026, 6, 4), parent="nowhere"),
        archive("circle 1", at(2026, 6, 5), parent="circle 2"),
        archive("circle 2", at(2026, 6, 6), parent="circle 1"),
        archive("on tenant", at(2026, 6, 7), parent="tenant"),
        archive("tenant", at(2026, 6, 7), scope="t7"),
        archive("on attic", at(2026, 6, 8), parent="attic"),
        archive("attic", at(2026, 6, 7), target="attic"),
        archive("out of its time", at(2026, 6, 9), parent="nowhere"),
    ]
    stays, gone = decided(archives, Plan(1, 0, 0, 0, 0, 1))
    assert stays["good"] == ["last 1 of 1"]
    assert gone == ["on unsound", "orphan", "circle 1", "circle 2", "on tenant", "on attic"]


def test_an_archive_whose_parent_is_out_of_sight_goes_no_earlier_than_it_would_have():
    full = archive("full", at(2026, 6, 1))
    chain = [archive(str(n), at(2026, 6, n), parent="full") for n in (2, 3, 4)]
    plan = Plan(2, 0, 0, 0, 0, 1)
    with_it = decided([full, *chain], plan)
    without = decided(chain, plan)
    assert with_it[1] == without[1] == ["2"]
    words = "not all its parents are here and verified: counts for nothing, stays its time"
    assert without[0] == {"4": [words], "3": [words]}


@pytest.mark.parametrize("wrong", [-1, 1.0, True, "7", None])
def test_a_plan_takes_whole_numbers_from_nought_up(wrong):
    with pytest.raises(ValueError, match="keep_daily must be a whole number of at least 0"):
        Plan(keep_daily=wrong)


def test_a_plan_without_a_floor_is_refused():
    with pytest.raises(ValueError, match="min_keep must be a whole number of at least 1, got 0"):
        Plan(min_keep=0)


def test_an_instant_without_a_zone_and_an_id_that_comes_twice_are_refused():
    naive = datetime(2026, 6, 1)  # noqa: DTZ001
    with pytest.raises(ValueError, match="start of an archive must carry a time zone"):
        archive("a", naive)
    with pytest.raises(ValueError, match="now must carry a time zone"):
        decided([], DAILY, now=naive)
    with pytest.raises(ValueError, match="an id of its own"):
        decided([archive("a", NOW), archive("a", NOW)], DAILY)


def test_the_rule_knows_neither_django_nor_the_clock():
    check = (
        "import sys, backups.retention.rule;"
        "assert not [each for each in sys.modules if each.split('.')[0] in ('django', 'time_machine')]"
    )
    subprocess.run([sys.executable, "-c", check], cwd=CHECKOUT, check=True, timeout=60)


@pytest.mark.alone
def test_a_hundred_thousand_archives_are_decided_within_seconds():
    start = datetime(2015, 1, 1, tzinfo=UTC)
    archives = [
        Archive(
            id=f"{n:06}",
            scope="all",
            target="cellar",
            start=start + timedelta(hours=n),
            state=State.COMPLETE,
            verified=True,
            parent=f"{n - 1:06}" if n % 24 else None,
        )
        for n in range(100_000)
    ]
    before = process_time()
    stays, gone = decided(archives, Plan(), zone=BERLIN, now=at(2027, 1, 1))
    assert process_time() - before < 10
    assert len(stays) + len(gone) == 100_000
