"""What holds of every list of archives: the rule against a second writing of it, and its laws."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backups.retention.archives import Archive, State, Trigger
from backups.retention.plan import Plan
from backups.retention.reasons import Rule
from backups.retention.rule import decide, expiring
from tests.backups.retention.made import BERLIN, archive, at, decided
from tests.backups.retention.reference import verdicts

ZONES = [
    UTC,
    BERLIN,
    ZoneInfo("Pacific/Kiritimati"),
    ZoneInfo("Etc/GMT+12"),
    ZoneInfo("America/St_Johns"),
    ZoneInfo("Australia/Lord_Howe"),
    timezone(timedelta(hours=5, minutes=45)),
]
# Changes of clocks, the ends of years with and without a week 53, leap days.
MOMENTS = [
    at(2010, 11, 7, 2, 31),
    at(2020, 12, 31, 23),
    at(2021, 1, 3, 12),
    at(2024, 2, 29, 12),
    at(2024, 3, 1),
    at(2026, 3, 29, 1),
    at(2026, 10, 25, 1),
    at(2026, 12, 28),
    at(2027, 1, 1),
    at(2027, 1, 3, 23, 59),
    at(2028, 2, 29, 12),
]
NAMES = "abcdefghijklmn"
instants = st.builds(
    lambda moment, minutes: moment + timedelta(minutes=minutes),
    st.sampled_from(MOMENTS),
    st.sampled_from([-1440, -721, -60, -31, -1, 0, 0, 1, 30, 61, 720, 1439, 43_200]),
)
plans = st.builds(
    Plan,
    *[st.integers(0, 4)] * 5,
    st.integers(1, 4),
)


@st.composite
def lists(draw, least=0, most=14):
    names = draw(st.permutations(NAMES))[: draw(st.integers(least, most))]
    mostly = st.sampled_from([True] * 5 + [False])
    return [
        Archive(
            id=name,
            scope="all" if draw(mostly) else "t7",
            target="cellar" if draw(mostly) else "attic",
            start=draw(instants),
            state=State.COMPLETE if draw(mostly) else draw(st.sampled_from(State)),
            verified=draw(mostly),
            trigger=Trigger.SCHEDULE if draw(mostly) else draw(st.sampled_from(Trigger)),
            parent=draw(st.sampled_from([None, None, *names, "nowhere"])),
            pinned_until=None if draw(mostly) else draw(instants),
        )
        for name in names
    ]


cases = {
    "archives": lists(),
    "plan": plans,
    "zone": st.sampled_from(ZONES),
    "now": st.one_of(st.just(at(2028, 6, 1)), instants),
}
many = settings(max_examples=100, deadline=None)
some = settings(max_examples=40, deadline=None)


def planned(archives, plan, zone, now):
    return decide(archives, plan, scope="all", target="cellar", zone=zone, now=now)


def good(each):
    return each.state is State.COMPLETE and each.verified and ours(each)


def restorable(archives):
    """The good ones with every ancestor at hand, found from the full ones up."""
    found = [each for each in archives if good(each) and each.parent is None]
    for each in found:
        found += [child for child in archives if good(child) and child.parent == each.id]
    return found


def ours(each):
    return each.scope == "all" and each.target == "cellar"


def agree(archives, plan, zone, now):
    stays, gone = decided(archives, plan, zone=zone, now=now)
    expected = verdicts(archives, plan, scope="all", target="cellar", zone=zone, now=now)
    assert ({name: set(words) for name, words in stays.items()}, gone) == expected
    assert all(len(words) == len(set(words)) for words in stays.values())


@many
@given(**cases)
def test_the_rule_is_the_rule_as_it_is_written_a_second_time(archives, plan, zone, now):
    agree(archives, plan, zone, now)


@pytest.mark.parametrize("zone", ZONES, ids=str)
def test_years_of_archives_are_kept_as_the_rule_says(zone):
    chance = Random(f"{zone}")
    start = datetime(2023, 12, 20, tzinfo=UTC)
    archives = []
    for n in range(200):
        start += timedelta(minutes=chance.choice([0, 7, 720, 1380, 1440, 1500, 10_080, 40_320]))
        newest = archives[-1].id if archives else None
        archives.append(
            archive(
                f"{chance.randrange(10)}-{n}",
                start,
                state=chance.choices(list(State), [95, 1, 1, 2, 1])[0],
                verified=chance.random() < 0.95,
                trigger=chance.choices(list(Trigger), [90, 5, 2, 3])[0],
                parent=newest if chance.random() < 0.6 else None,
            )
        )
    chance.shuffle(archives)
    agree(archives, Plan(), zone, max(each.start for each in archives))


@some
@given(**cases)
def test_never_fewer_good_archives_stay_than_the_floor_says(archives, plan, zone, now):
    staying = [d.archive for d in planned(archives, plan, zone, now) if not d.expires]
    assert len(restorable(staying)) >= min(plan.min_keep, len(restorable(archives)))


@some
@given(**cases)
def test_no_parent_of_what_stays_expires(archives, plan, zone, now):
    decisions = planned(archives, plan, zone, now)
    going = {each.id for each in expiring(decisions)}
    for each in decisions:
        if not each.expires and each.archive.state is not State.FAILED:
            assert each.archive.parent not in going


@some
@given(**cases)
def test_only_complete_verified_archives_of_ours_past_their_pin_ever_expire(
    archives, plan, zone, now
):
    for each in expiring(planned(archives, plan, zone, now)):
        assert each.state is State.COMPLETE
        assert each.verified
        assert ours(each)
        assert each.start <= now
        assert each.pin is None or each.pin <= now


@some
@given(**cases)
def test_what_expires_goes_oldest_first_and_whatever_the_order_of_the_list(
    archives, plan, zone, now
):
    decisions = planned(archives, plan, zone, now)
    going = [(each.start, each.id) for each in expiring(decisions)]
    assert going == sorted(going)
    assert planned(archives[::-1], plan, zone, now) == decisions


@some
@given(**cases, cut=st.integers(0, len(NAMES)))
def test_what_has_expired_even_in_part_makes_nothing_new_expire(archives, plan, zone, now, cut):
    going = expiring(planned(archives, plan, zone, now))
    rest = [each for each in archives if each not in going[:cut]]
    assert expiring(planned(rest, plan, zone, now)) == going[cut:]


@many
@given(**cases, another=lists(least=1, most=1))
def test_a_bad_archive_costs_none_and_a_good_one_only_older_ones_or_those_of_the_floor(
    archives, plan, zone, now, another
):
    (new,) = (
        Archive(
            "new", a.scope, a.target, a.start, a.state, a.verified, a.trigger, None, a.pinned_until
        )
        for a in another
    )
    before = {each.archive.id: each for each in planned(archives, plan, zone, now)}
    whole = [replace(each, parent=None) for each in archives]
    healed = {each.archive.id: each for each in planned(whole, plan, zone, now)}
    decisions = planned([*archives, new], plan, zone, now)
    lost = [d.archive for d in decisions if d.expires and d.archive.id != "new"]
    lost = [each for each in lost if not before[each.id].expires]
    if not good(new) or new.start > now:
        assert not lost
    for each in lost:
        # The floor is made up of as many as the generations leave missing; and a parent may be newer than its
        # child where the clock was set back.
        # Of one whose chain is not whole, what would keep it if it were.
        broken = {reason.rule for reason in before[each.id].reasons} == {Rule.BROKEN}
        reasons = (healed if broken else before)[each.id].reasons
        by_floor = {reason.rule for reason in reasons} == {Rule.FLOOR}
        child_lost = any(other.parent == each.id for other in lost)
        assert each.start <= new.start or by_floor or child_lost


@some
@given(**cases)
def test_the_newest_day_that_had_a_good_archive_keeps_one(archives, plan, zone, now):
    plan = replace(plan, keep_daily=max(1, plan.keep_daily))
    counted = [each for each in restorable(archives) if each.start <= now]
    kept = [d.archive for d in planned(archives, plan, zone, now) if not d.expires]
    days = {each.start.astimezone(zone).date() for each in restorable(kept)}
    newest = max(counted, key=lambda each: each.start, default=None)
    assert newest is None or newest.start.astimezone(zone).date() in days
