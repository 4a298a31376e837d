"""``manage.py backups plan SCHEDULE``: what the plan of a schedule keeps and what would expire. Changes nothing."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from backups.commands.screen import Screen
from backups.decisions import decisions_of
from backups.errors import NameUnknown, RuleRefused
from backups.models import BackupRun, BackupSchedule
from backups.retention.rule import Decision

VERB = "plan"
HELP = "What a schedule's plan keeps and why, and what would expire. Changes nothing."


def add(parser: ArgumentParser) -> None:
    parser.add_argument("schedule", metavar="SCHEDULE", help="its name")


def run(screen: Screen, options: dict[str, Any]) -> None:
    """Every archive, newest first. Raises ``NameUnknown``, ``RuleRefused``."""
    schedule = BackupSchedule.objects.filter(name=options["schedule"]).first()
    if schedule is None:
        raise NameUnknown(f"There is no schedule {options['schedule']!r}.")
    try:
        decisions, zone = decisions_of(schedule), ZoneInfo(schedule.zone)
    except (KeyError, ValueError, OSError):
        raise RuleRefused(
            f"The plan or the zone of {schedule.name!r} cannot be used: correct it on the page of the schedule."
        ) from None
    names = _names(decisions)
    screen.answer(
        [_json(each, names[each.archive.id]) for each in decisions],
        _lines(decisions, names, zone),
    )


def _lines(decisions: tuple[Decision, ...], names: dict[str, str], zone: ZoneInfo) -> Iterator[str]:
    for each in decisions:
        start = f"{each.archive.start.astimezone(zone):%Y-%m-%d %H:%M}"
        yield f"{start}  {names[each.archive.id]}: {_words(each)}"
    going = sum(each.expires for each in decisions)
    yield f"{len(decisions) - going} stay, {going} would expire."


def _names(decisions: tuple[Decision, ...]) -> dict[str, str]:
    runs = BackupRun.objects.filter(pk__in=[each.archive.id for each in decisions])
    return {str(pk): archive or str(pk) for pk, archive in runs.values_list("pk", "archive")}


def _words(decision: Decision) -> str:
    if decision.expires:
        return f"would expire as number {decision.place}"
    return f"stays ({'; '.join(reason.words for reason in decision.reasons)})"


def _json(decision: Decision, name: str) -> dict[str, Any]:
    return {
        "run": decision.archive.id,
        "archive": name,
        "start": decision.archive.start.isoformat(),
        "expires": decision.expires,
        "place": decision.place,
        "reasons": [
            {"rule": reason.rule.value, "words": reason.words} for reason in decision.reasons
        ],
    }
