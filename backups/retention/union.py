"""Several plans for the same archives: what any of them keeps stays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from backups.retention.reasons import UNTOUCHED, Reason, Rule
from backups.retention.rule import Decision

ALIKE = {*UNTOUCHED, Rule.PINNED}  # whoever asks


def united(
    own: Sequence[Decision], others: Mapping[str, Iterable[Decision]]
) -> tuple[Decision, ...]:
    """The decisions of a plan, newest first, with what the plans of ``others``, by name, keep of the same archives.

    Each of theirs gives one reason more; what expires is counted anew.
    """
    more: dict[str, list[Reason]] = {}
    for name, decisions in others.items():
        for each in decisions:
            if kept := next((one for one in each.reasons if one.rule not in ALIKE), None):
                said = Reason(Rule.OTHER_PLAN, f"the plan of {name}: {kept.words}")
                more.setdefault(each.archive.id, []).append(said)
    reasons = [(*each.reasons, *more.get(each.archive.id, ())) for each in own]
    last = sum(not each for each in reasons)
    decisions = []
    for each, because in zip(own, reasons, strict=True):
        decisions.append(replace(each, reasons=because, place=None if because else last))
        last -= not because
    return tuple(decisions)
