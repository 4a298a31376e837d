"""``manage.py backups inspect``: what an archive says of itself."""

from argparse import ArgumentParser
from typing import Any

import msgspec

from backups.archive import told
from backups.archive.read import read_manifest
from backups.commands import place
from backups.commands.screen import Screen

VERB = "inspect"
HELP = "What an archive says of itself. Needs no key, so it is believed as far as the target is."


def add(parser: ArgumentParser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", help="its directory, as list shows it")
    place.add(parser)


def run(screen: Screen, options: dict[str, Any]) -> None:
    """Its manifest. Raises ``ArchiveError``, ``TargetError``."""
    with place.opened(options) as there:
        manifest, _ = read_manifest(there.store, options["archive"])
    screen.answer(msgspec.to_builtins(manifest), told.manifest_lines(manifest))
