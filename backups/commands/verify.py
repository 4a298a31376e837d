"""``manage.py backups verify``: read archives, every byte."""

from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from backups.archive import told
from backups.archive.listing import State, archives
from backups.archive.verify import Progress, Report, verify
from backups.commands import place
from backups.commands.screen import Screen
from backups.conf import conf

VERB = "verify"
HELP = "Read archives, every byte, and say what is wrong with them."


def add(parser: ArgumentParser) -> None:
    parser.add_argument("archives", nargs="*", metavar="ARCHIVE", help="none: every complete one")
    place.add(parser)
    place.add_unencrypted(parser)


def run(screen: Screen, options: dict[str, Any]) -> None:
    """All of them, one after another. Ends with an error when one is not sound, or none is there."""
    ring, reports = conf().keys, []
    with place.opened(options) as there:
        for name in options["archives"] or _complete(there):
            show = partial(shown, screen, name)
            reports.append(
                verify(there.store, name, ring, encrypted=there.encrypted, progress=show)
            )
            if not screen.as_json:
                screen.answer(None, told.report_lines(reports[-1]))
    if screen.as_json:
        screen.answer([told.report_json(each) for each in reports], [])
    _refuse(reports)


def shown(screen: Screen, name: str, at: Progress) -> None:
    """How far the archive ``name`` was read."""
    screen.progress(told.progress_line(name, at), done=at.members == at.of_members)


def _complete(there: place.Place) -> list[str]:
    return [each.name for each in archives(there.store) if each.state is State.COMPLETE]


def _refuse(reports: list[Report]) -> None:
    if not reports:
        raise CommandError("There is no complete archive at the target.")
    if unsound := sum(1 for each in reports if not each.sound):
        raise CommandError(f"Not sound: {unsound} of {len(reports)}.")
