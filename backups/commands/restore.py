"""``manage.py backups restore``: an installation into an empty database, or one tenant into the one that is in use."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connections

from backups.commands import place, restore_rows, restore_system, restore_tenant
from backups.commands.screen import Screen
from backups.conf import conf
from backups.errors import NameUnknown
from backups.system.precheck import refuse_filled

VERB = "restore"
HELP = (
    "Bring a whole installation back from an archive: its rows into an empty, migrated database,"
    " or with --system a dump into one without even tables. With --mode: one tenant, into the database in use."
)


def add(parser: ArgumentParser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", help="its directory, as list shows it")
    parser.add_argument(
        "--system",
        action="store_true",
        help="an archive of the whole system; every unfinished job is set aside",
    )
    parser.add_argument(
        "--check", action="store_true", help="say whether it can be restored; write nothing"
    )
    parser.add_argument(
        "--database", default=DEFAULT_DB_ALIAS, metavar="ALIAS", help="of DATABASES: default"
    )
    place.add(parser)
    place.add_unencrypted(parser)
    restore_tenant.add(parser)


def run(screen: Screen, options: dict[str, Any]) -> None:
    """All of the archive, or nothing. Raises ``BackupError``; then the database is as empty as it was.

    With a mode a worker does it, and what it has done when it ends early is told by the restore's page.
    """
    restore_tenant.refuse(options)
    if options["mode"]:
        restore_tenant.run(screen, options)
        return
    alias, verb = options["database"], restore_system if options["system"] else restore_rows
    if alias not in connections:
        raise NameUnknown(f"There is no database {alias!r} in DATABASES.")
    if options["system"]:
        _refuse_target(options)
    with place.opened(options) as there:
        verb.run(screen, there, conf().keys, options)


def _refuse_target(options: dict[str, Any]) -> None:
    """An empty database has no rows of targets, not even a table that could be asked."""
    refuse_filled(connections[options["database"]])
    if options["target"] and options["database"] == DEFAULT_DB_ALIAS:
        raise CommandError(
            "The database is empty, so it holds no targets: name the archive's place with --directory.",
            returncode=2,
        )
