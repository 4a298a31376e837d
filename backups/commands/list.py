"""``manage.py backups list``: what is at a target, told from the target alone."""

from argparse import ArgumentParser
from typing import Any

from backups.archive import told
from backups.archive.listing import archives, parent_of
from backups.commands import place
from backups.commands.screen import Screen

VERB = "list"
HELP = "What is at a target: complete archives, unfinished ones, and what is not ours."


def add(parser: ArgumentParser) -> None:
    place.add(parser)


def run(screen: Screen, options: dict[str, Any]) -> None:
    """Names and sizes. Whether an archive is sound is for ``verify`` to say. Raises ``TargetError``."""
    with place.opened(options) as there:
        found = [(each, parent_of(there.store, each)) for each in archives(there.store)]
    screen.answer(
        [told.found_json(*each) for each in found], (told.found_line(*each) for each in found)
    )
