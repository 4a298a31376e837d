"""What the rows of the picture show, before it has a layout: each mark's look, label and words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from itertools import islice
from typing import NamedTuple

from backups.retention.plan import Plan
from backups.retention.reasons import UNTOUCHED, Rule
from backups.retention.rule import Decision

REASONS = 10
GENERATIONS = {Rule.LAST, Rule.DAY, Rule.WEEK, Rule.MONTH, Rule.YEAR}


class Shown(NamedTuple):
    """An archive, or a free place, in a row."""

    look: str
    label: str
    words: str


@dataclass(frozen=True, slots=True)
class Series:
    """A row: its first marks, and how many archives it has in all."""

    name: str
    told: str
    first: tuple[Shown, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Line:
    """An archive in words."""

    start: str
    id: str
    words: str
    expires: bool


def series(
    decisions: Sequence[Decision], plan: Plan, zone: tzinfo, *, most: int
) -> Iterator[Series]:
    """The rows from the last ones to those that expire, ``most`` marks of each; what expires is oldest first."""
    for rule, name, count in (
        (Rule.LAST, "Last", plan.keep_last),
        (Rule.DAY, "Daily", plan.keep_daily),
        (Rule.WEEK, "Weekly", plan.keep_weekly),
        (Rule.MONTH, "Monthly", plan.keep_monthly),
        (Rule.YEAR, "Yearly", plan.keep_yearly),
    ):
        marks = _generation(decisions, rule, count, zone)
        free = [Shown("free", "", "free")] * (min(count, most) - len(marks))
        told = f"{len(marks)} of {count}" if count else "none wanted"
        yield Series(name, told, tuple((marks + free)[:most]), len(marks))
    groups = _groups(decisions)
    for name, look in (
        ("Kept besides", "kept"),
        ("Not touched", "untouched"),
        ("Expire now", "expiring"),
    ):
        first = tuple(
            Shown(look, f"{_day(each, zone):%Y-%m-%d}", _words(each, zone))
            for each in islice(groups[look], most)
        )
        yield Series(name, str(len(groups[look])), first, len(groups[look]))


def line(decision: Decision, zone: tzinfo) -> Line:
    """What becomes of an archive. Ten reasons at most: a full archive may be the parent of thousands."""
    start = decision.archive.start.astimezone(zone).isoformat(sep=" ", timespec="minutes")
    words = "; ".join(reason.words for reason in decision.reasons[:REASONS])
    if len(decision.reasons) > REASONS:
        words += f"; and {len(decision.reasons) - REASONS} more"
    if decision.place is not None:
        words = f"expires as number {decision.place}"
    return Line(start, decision.archive.id, words, decision.expires)


def _generation(decisions: Iterable[Decision], rule: Rule, count: int, zone: tzinfo) -> list[Shown]:
    kept = [each for each in decisions if rule in _rules(each)]
    marks = [Shown("kept", _label(_day(each, zone), rule), _words(each, zone)) for each in kept]
    if kept and len(kept) == count and _rules(kept[-1]) == {rule}:
        _, label, words = marks[-1]
        marks[-1] = Shown("next", label, f"{words}; the first to go when this row moves on")
    return marks


def _groups(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    groups: dict[str, list[Decision]] = {"kept": [], "untouched": [], "expiring": []}
    for each in decisions:
        rules = _rules(each)
        if not rules:
            groups["expiring"].append(each)
        elif rules & UNTOUCHED:
            groups["untouched"].append(each)
        elif not rules & GENERATIONS:
            groups["kept"].append(each)
    groups["expiring"].reverse()
    return groups


def _label(day: date, rule: Rule) -> str:
    match rule:
        case Rule.WEEK:
            year, week, _ = day.isocalendar()
            return f"{year}-W{week:02}"
        case Rule.MONTH:
            return f"{day:%Y-%m}"
        case Rule.YEAR:
            return f"{day:%Y}"
        case _:
            return f"{day:%d %b}"


def _rules(decision: Decision) -> set[Rule]:
    return {reason.rule for reason in decision.reasons}


def _day(decision: Decision, zone: tzinfo) -> date:
    return decision.archive.start.astimezone(zone).date()


def _words(decision: Decision, zone: tzinfo) -> str:
    told = line(decision, zone)
    return f"{told.start}: {told.words}"
