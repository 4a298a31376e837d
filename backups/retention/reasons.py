"""Why an archive stays, in words that an officer reads."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import Enum

from backups.retention.archives import Archive, State


class Rule(Enum):
    """The rules that keep, in the order in which their reasons are given."""

    FOREIGN = "foreign"
    RUNNING = "running"
    UNFINISHED = "unfinished"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    AHEAD = "ahead"
    LAST = "last"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    FLOOR = "floor"
    BROKEN = "broken"
    PINNED = "pinned"
    PARENT = "parent"
    OTHER_PLAN = "other_plan"


UNTOUCHED = {
    Rule.FOREIGN,
    Rule.RUNNING,
    Rule.UNFINISHED,
    Rule.FAILED,
    Rule.UNVERIFIED,
    Rule.AHEAD,
}


@dataclass(frozen=True, slots=True)
class Reason:
    """A rule that keeps an archive, and what it says."""

    rule: Rule
    words: str


RUNNING = Reason(Rule.RUNNING, "running: never touched")
UNFINISHED = Reason(Rule.UNFINISHED, "unfinished: never touched")
FAILED = Reason(Rule.FAILED, "failed: never touched")
FOREIGN = Reason(Rule.FOREIGN, "foreign: never touched")
OTHER_TARGET = Reason(Rule.FOREIGN, "at another target: never touched")
OTHER_SCOPE = Reason(Rule.FOREIGN, "of another scope: never touched")
UNVERIFIED = Reason(Rule.UNVERIFIED, "not verified: counts for nothing, never touched")
AHEAD = Reason(Rule.AHEAD, "started later than now: counts for nothing until then, not touched")
BROKEN = Reason(
    Rule.BROKEN, "not all its parents are here and verified: counts for nothing, stays its time"
)


def untouchable(archive: Archive, *, scope: str, target: str, now: datetime) -> Reason | None:
    """Why the rule leaves this archive alone, whatever the plan says; None when the plan decides."""
    match archive.state:
        case State.FOREIGN:
            return FOREIGN
        case _ if archive.target != target:
            return OTHER_TARGET
        case _ if archive.scope != scope:
            return OTHER_SCOPE
        case State.RUNNING:
            return RUNNING
        case State.UNFINISHED:
            return UNFINISHED
        case State.FAILED:
            return FAILED
        case State.COMPLETE if not archive.verified:
            return UNVERIFIED
        case State.COMPLETE if archive.start > now:
            return AHEAD
    return None


def pinned(until: datetime, zone: tzinfo) -> Reason:
    """Stays until an instant, told in the schedule's zone."""
    local = until.astimezone(zone).isoformat(sep=" ", timespec="minutes")
    return Reason(Rule.PINNED, f"pinned until {local}")


def parent_of(children: Iterable[str]) -> list[Reason]:
    """Stays because others continue it."""
    return [Reason(Rule.PARENT, f"parent of {child}") for child in children]
