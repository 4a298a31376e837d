"""``manage.py backups files``: the files that an archive has, by the names that rows have for them."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import msgspec

from backups.archive import told
from backups.archive.read import Archive, open_archive
from backups.commands import place
from backups.commands.screen import Screen
from backups.conf import conf
from backups.files.listed import Listed, listed_in

VERB = "files"
HELP = "The files that the rows of an archive name, and which of them were not there to be taken."

Numbered = Iterator[tuple[int, Listed]]


def add(parser: ArgumentParser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", help="its directory, as list shows it")
    parser.add_argument(
        "--missing", action="store_true", help="only those without a content in the archive"
    )
    place.add(parser)
    place.add_unencrypted(parser)


def run(screen: Screen, options: dict[str, Any]) -> None:
    """A line for each, by its number. Raises ``ArchiveError``, ``TargetError``."""
    with place.opened(options) as there:
        archive = open_archive(
            there.store, options["archive"], conf().keys, encrypted=there.encrypted
        )
        found = _listed(archive, missing_only=options["missing"])
        value = [{"number": n} | msgspec.to_builtins(each) for n, each in found]
        screen.answer(value, map(_line, value))


def _listed(archive: Archive, *, missing_only: bool) -> Numbered:
    for number, listed in enumerate(listed_in(archive), start=1):
        if listed.sha256 is None or not missing_only:
            yield number, listed


def _line(each: dict[str, Any]) -> str:
    said = each["why"] or "there"
    return (
        f"{each['number']}  {said:<8}  {told.size(each['bytes'])}  {each['column']}  {each['name']}"
    )
