"""``manage.py backups restore-system``: a whole database from an archive, into an empty one."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DEFAULT_DB_ALIAS, connections

from backups.archive import schema
from backups.archive.read import open_archive
from backups.keys import KeyRing
from backups.system.restore import refuse_filled, restore
from backups.targets.store import Store

VERB = "restore-system"
HELP = (
    "Fill an empty database from an archive of the whole system; every unfinished job is set aside."
)


def add(parser: ArgumentParser) -> None:
    """What it takes beside the archive's place."""
    parser.add_argument("archive", metavar="ARCHIVE", help="its directory, as list shows it")
    parser.add_argument(
        "--database", default=DEFAULT_DB_ALIAS, metavar="ALIAS", help="of DATABASES: default"
    )
    parser.add_argument(
        "--encrypted", action="store_true", help="refuse an archive that is not encrypted"
    )


def refuse(options: dict[str, Any]) -> None:
    """Raise, before a target is looked for, when the database cannot be filled."""
    if options["database"] not in connections:
        raise CommandError(f"There is no database {options['database']!r} in DATABASES.")
    refuse_filled(connections[options["database"]])
    if options["target"] and options["database"] == DEFAULT_DB_ALIAS:
        raise CommandError(
            "The database is empty, so it holds no targets: name the archive's place with --directory."
        )


def run(command: BaseCommand, store: Store, ring: KeyRing, options: dict[str, Any]) -> None:
    """All of the archive, or nothing. Raises ``BackupError``."""
    archive = open_archive(
        store,
        options["archive"],
        ring,
        schema=schema.known(),
        encrypted=options["encrypted"],
    )
    restore(archive, options["database"])
    told = "Restored. Every unfinished job is parked, with the reason: restored."
    command.stdout.write('{"restored": true}' if options["as_json"] else told)
