"""The generations: the last ones, and the newest of each day, ISO week, month and year; then the floor."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, tzinfo

from backups.retention.archives import Archive
from backups.retention.plan import Plan
from backups.retention.reasons import Reason, Rule


def by_generation(
    newest_first: Sequence[Archive], plan: Plan, zone: tzinfo
) -> Mapping[str, list[Reason]]:
    """The ids that the plan keeps, each with every reason. Days are those on which runs started in ``zone``."""
    kept: defaultdict[str, list[Reason]] = defaultdict(list)
    for place, archive in enumerate(newest_first[: plan.keep_last], 1):
        kept[archive.id].append(Reason(Rule.LAST, f"last {place} of {plan.keep_last}"))
    days = [each.start.astimezone(zone).date() for each in newest_first]
    for rule, count, name in (
        (Rule.DAY, plan.keep_daily, day),
        (Rule.WEEK, plan.keep_weekly, week),
        (Rule.MONTH, plan.keep_monthly, month),
        (Rule.YEAR, plan.keep_yearly, year),
    ):
        for place, words in _first_of_each(days, count, name):
            kept[newest_first[place].id].append(Reason(rule, words))
    for archive in _floor(newest_first, kept, plan.min_keep):
        kept[archive.id].append(Reason(Rule.FLOOR, f"floor: at least {plan.min_keep} stay"))
    return kept


def day(local: date) -> str:
    """A day, in words."""
    return f"the day {local:%Y-%m-%d}"


def week(local: date) -> str:
    """An ISO week with the year that it belongs to: 1 January 2027 is in week 53 of 2026."""
    of_year, number, _ = local.isocalendar()
    return f"ISO week {number} of {of_year}"


def month(local: date) -> str:
    """A month, in words."""
    return f"the month {local:%Y-%m}"


def year(local: date) -> str:
    """A year, in words."""
    return f"the year {local:%Y}"


def _first_of_each(
    days: Iterable[date], count: int, name: Callable[[date], str]
) -> Iterator[tuple[int, str]]:
    """Places of the first of each period, until there are ``count`` periods.

    Periods that were met are remembered, not only the one before: a clock that goes back at one minute past
    midnight shows yesterday again.
    """
    met: set[str] = set()
    before: date | None = None
    for place, local in enumerate(days):
        if len(met) >= count:
            return
        if local == before:
            continue
        before = local
        period = name(local)
        if period not in met:
            met.add(period)
            yield place, period


def _floor(
    newest_first: Iterable[Archive], kept: Mapping[str, list[Reason]], min_keep: int
) -> list[Archive]:
    missing = min_keep - len(kept)
    if missing <= 0:
        return []
    return [each for each in newest_first if each.id not in kept][:missing]
