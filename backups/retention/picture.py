"""The generations as a picture: places in a grid, ready for the SVG of ``admin/backups/generations.html``."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from backups.retention.plan import Plan
from backups.retention.rows import Line, line, series
from backups.retention.rule import Decision

NAMES, PITCH, LINE, A_LINE = 110, 60, 30, 14
SHOWN = 3 * A_LINE
LISTED = 200


@dataclass(frozen=True, slots=True)
class Mark:
    """One place. ``look`` is kept, next (the first to go when its row moves on), expiring, untouched or free."""

    x: int
    y: int
    look: str
    label: str
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line, or more when it is long, of marks; ``more`` are not drawn. ``y`` is where it begins."""

    name: str
    told: str
    y: int
    marks: tuple[Mark, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything the template needs. Lengths are units of the view box; ``lines`` are newest first."""

    width: int
    height: int
    rows: tuple[Row, ...]
    summary: str
    lines: tuple[Line, ...]
    more: int


def picture(decisions: Sequence[Decision], plan: Plan, zone: tzinfo) -> Picture:
    """Draw what ``decide`` said of a plan, newest first in every row, with days as they are in ``zone``."""
    rows: list[Row] = []
    y = 0
    for each in series(decisions, plan, zone, most=SHOWN):
        marks = tuple(
            Mark(NAMES + at % A_LINE * PITCH, y + at // A_LINE * LINE, *shown)
            for at, shown in enumerate(each.first)
        )
        rows.append(Row(each.name, each.told, y, marks, max(0, each.total - len(marks))))
        y += LINE * max(1, -(-len(marks) // A_LINE))
    return Picture(
        width=NAMES + PITCH * A_LINE,
        height=y,
        rows=tuple(rows),
        summary=_summary(decisions),
        lines=tuple(line(each, zone) for each in decisions[:LISTED]),
        more=max(0, len(decisions) - LISTED),
    )


def _summary(decisions: Sequence[Decision]) -> str:
    going = sum(each.expires for each in decisions)
    staying = len(decisions) - going
    return (
        f"{staying} stay{'s' * (staying == 1)}, {going} expire{'s' * (going == 1)}, oldest first."
    )
