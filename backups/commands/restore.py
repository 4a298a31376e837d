"""``manage.py backups restore``: an archive of the whole installation into an empty database."""

import json
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DEFAULT_DB_ALIAS, connections

from backups.archive import told
from backups.archive.verify import Progress
from backups.data.spec import discover
from backups.data.tables import tables
from backups.keys import KeyRing
from backups.restore.precheck import checked
from backups.restore.whole import restore
from backups.targets.store import Store

HELP = "Bring the whole installation back from an archive, into an empty, migrated database."


def add(parser: ArgumentParser) -> None:
    parser.add_argument("archive", metavar="ARCHIVE", help="its directory, as list shows it")
    parser.add_argument(
        "--check", action="store_true", help="say whether it can be restored; write nothing"
    )
    parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="default: default")


def run(command: BaseCommand, options: dict[str, Any], store: Store, ring: KeyRing) -> None:
    """Raises ``BackupError``; then the database is as empty as it was."""
    name, connection = options["archive"], connections[options["database"]]
    chosen = tables(discover())

    def read(archive: str, at: Progress) -> None:
        if command.stderr.isatty():
            end = "\n" if at.members == at.of_members else ""
            command.stderr.write(f"\r{told.progress_line(archive, at)}", str, ending=end)
            command.stderr.flush()

    def loaded(label: str, rows: int, of: int) -> None:
        command.stderr.write(f"{label}: {rows} of {of}", str)
        command.stderr.flush()

    chain = checked(store, name, ring, connection, chosen, progress=read)
    # Lines that were read; of a chain, a row counts in each archive that holds it.
    rows = sum((Counter(each.manifest.counts) for each in chain), Counter[str]())
    counts = {label: rows[label] for label in chain[-1].manifest.counts}
    if not options["check"]:
        counts = restore(chain, connection, chosen, tell=loaded)
    facts = {
        "archive": name,
        "after": [each.name for each in chain[:-1]],
        "restored": not options["check"],
        "rows": counts,
    }
    if options["as_json"]:
        command.stdout.write(json.dumps(facts, indent=2))
        return
    said = "can be restored" if options["check"] else "restored"
    before = f" with {len(chain) - 1} before it" if len(chain) > 1 else ""
    command.stdout.write(f"{said}  {name}{before}  {sum(counts.values())} rows")
