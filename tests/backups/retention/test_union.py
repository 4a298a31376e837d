"""An archive stays while any plan of its scope keeps it."""

from datetime import timedelta

from hypothesis import given

from backups.retention.plan import Plan
from backups.retention.reasons import Rule
from backups.retention.rule import decide, expiring
from backups.retention.union import united
from tests.backups.retention.made import BERLIN, NOW, archive
from tests.backups.retention.test_laws import lists, plans

FEW, MONTHLY = Plan(2, 0, 0, 0, 0, 1), Plan(0, 0, 0, 12, 0, 1)


def decisions(archives, plan):
    return decide(archives, plan, scope="all", target="cellar", zone=BERLIN, now=NOW)


def kept(found):
    return {each.archive.id for each in found if not each.expires}


def test_what_another_plan_keeps_stays_and_says_whose_plan_it_is() -> None:
    archives = [archive(f"{n:02}", NOW - timedelta(days=n)) for n in range(40)]
    both = united(decisions(archives, FEW), {"Monthly": decisions(archives, MONTHLY)})
    # The newest of January, December and November.
    assert kept(both) == {"00", "01", "05", "36"}
    said = {each.archive.id: [one.words for one in each.reasons] for each in both}
    assert said["00"] == ["last 1 of 2", "the plan of Monthly: the month 2027-01"]
    assert said["05"] == ["the plan of Monthly: the month 2026-12"]
    assert [each.id for each in expiring(both)] == [
        f"{n:02}" for n in range(39, 1, -1) if n not in (5, 36)
    ]


def test_what_is_alike_for_all_plans_is_not_said_twice() -> None:
    pinned = archive("old", NOW - timedelta(days=90), pinned_until=NOW + timedelta(days=1))
    archives = [archive("new", NOW), archive("newer", NOW), pinned]
    both = united(decisions(archives, FEW), {"Twin": decisions(archives, FEW)})
    (old,) = [each for each in both if each.archive.id == "old"]
    assert [each.rule for each in old.reasons] == [Rule.PINNED]


@given(lists(), plans, plans)
def test_a_union_keeps_what_either_keeps_and_nothing_else(archives, one, other) -> None:
    mine, theirs = decisions(archives, one), decisions(archives, other)
    both = united(mine, {"other": theirs})
    assert kept(both) == kept(mine) | kept(theirs)
    assert kept(united(theirs, {"one": mine})) == kept(both)
    gone = expiring(both)
    assert [each.place for each in both if each.expires] == list(range(len(gone), 0, -1))
    assert united(mine, {}) == mine
