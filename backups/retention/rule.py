"""The rule: of a list of archives, which stay, with every reason, and which expire, in which order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from backups.retention.archives import Archive, State, age
from backups.retention.chains import needed, unbroken
from backups.retention.generations import by_generation
from backups.retention.plan import Plan
from backups.retention.reasons import BROKEN, Reason, parent_of, pinned, untouchable


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one archive: it stays for ``reasons``, or it expires as number ``place``, from 1."""

    archive: Archive
    reasons: tuple[Reason, ...] = ()
    place: int | None = None

    @property
    def expires(self) -> bool:
        """Whether it goes."""
        return self.place is not None


def decide(
    archives: Iterable[Archive],
    plan: Plan,
    *,
    scope: str,
    target: str,
    zone: tzinfo,
    now: datetime,
) -> tuple[Decision, ...]:
    """One decision per archive, newest first; the same for any order of ``archives``.

    ``scope`` and ``target`` are the schedule's: archives of others stay. ``zone`` is its time zone, ``now`` an
    instant with a time zone. Raises ``ValueError`` where an id occurs twice or ``now`` has no zone.
    """
    if now.tzinfo is None:
        raise ValueError("now must carry a time zone, it has none")
    newest_first = sorted(archives, key=age, reverse=True)
    by_id = {each.id: each for each in newest_first}
    if len(by_id) < len(newest_first):
        raise ValueError("every archive must have an id of its own, some are given twice")

    reasons: dict[str, list[Reason]] = {}
    planned: list[Archive] = []
    for archive in newest_first:
        untouched = untouchable(archive, scope=scope, target=target, now=now)
        if untouched is None:
            planned.append(archive)
        else:
            reasons[archive.id] = [untouched]
    sound = unbroken(_good(newest_first, scope=scope, target=target))
    reasons |= _kept_by_plan(planned, sound, plan, zone)
    for archive in planned:
        if (pin := archive.pin) is not None and now < pin:
            reasons.setdefault(archive.id, []).append(pinned(pin, zone))
    for parent, children in needed((by_id[each] for each in reasons), by_id).items():
        reasons.setdefault(parent, []).extend(parent_of(children))
    return _decisions(newest_first, reasons)


def expiring(decisions: Iterable[Decision]) -> list[Archive]:
    """What goes, in the order in which it goes: oldest first."""
    going = [(each.place, each.archive) for each in decisions if each.place is not None]
    return [archive for _, archive in sorted(going, key=lambda each: each[0])]


def _good(archives: Iterable[Archive], *, scope: str, target: str) -> dict[str, Archive]:
    return {
        each.id: each
        for each in archives
        if each.state is State.COMPLETE
        and each.verified
        and each.scope == scope
        and each.target == target
    }


def _kept_by_plan(
    planned: Sequence[Archive], sound: set[str], plan: Plan, zone: tzinfo
) -> Mapping[str, list[Reason]]:
    """What the plan keeps of the sound ones; and of the others what it would keep if they were sound.

    So one that cannot be restored displaces none that can, and one whose parent is only out of sight for a
    while does not go earlier than it would have.
    """
    whole = [each for each in planned if each.id in sound]
    kept = dict(by_generation(whole, plan, zone))
    if len(whole) < len(planned):
        as_if = by_generation(planned, plan, zone)
        kept |= {each: [BROKEN] for each in as_if if each not in sound}
    return kept


def _decisions(
    newest_first: Sequence[Archive], reasons: Mapping[str, list[Reason]]
) -> tuple[Decision, ...]:
    last = len(newest_first) - len(reasons)
    decisions = []
    for archive in newest_first:
        if archive.id in reasons:
            decisions.append(Decision(archive, tuple(reasons[archive.id])))
        else:
            decisions.append(Decision(archive, place=last))
            last -= 1
    return tuple(decisions)
