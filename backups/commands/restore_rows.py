"""``restore`` of the rows of a whole installation."""

from collections import Counter
from functools import partial
from typing import Any

from django.db import connections

from backups.archive.read import Archive
from backups.commands import verify
from backups.commands.place import Place
from backups.commands.screen import Screen
from backups.data.spec import discover
from backups.data.tables import tables
from backups.keys import KeyRing
from backups.restore.precheck import checked
from backups.restore.whole import restore


def run(screen: Screen, there: Place, ring: KeyRing, options: dict[str, Any]) -> None:
    """Into an empty, migrated database. Raises ``BackupError``."""
    connection, chosen = connections[options["database"]], tables(discover())
    chain = checked(
        there.store,
        options["archive"],
        ring,
        connection,
        chosen,
        encrypted=there.encrypted,
        progress=partial(verify.shown, screen),
    )
    counts = _counts(chain)
    if not options["check"]:
        counts = restore(chain, connection, chosen, tell=partial(_loaded, screen))
    _tell(screen, chain, counts, checked_only=options["check"])


def _counts(chain: list[Archive]) -> dict[str, int]:
    """Lines that were read; of a chain, a row counts in each archive that holds it."""
    rows = sum((Counter(each.manifest.counts) for each in chain), Counter[str]())
    return {label: rows[label] for label in chain[-1].manifest.counts}


def _loaded(screen: Screen, label: str, rows: int, of: int) -> None:
    screen.progress(f"{label}: {rows} of {of}", done=rows == of)


def _tell(
    screen: Screen, chain: list[Archive], counts: dict[str, int], *, checked_only: bool
) -> None:
    name, last = chain[-1].name, chain[-1].manifest
    facts = {
        "archive": name,
        "after": [each.name for each in chain[:-1]],
        "restored": not checked_only,
        "rows": counts,
        "files": {"names": last.files, "missing": last.media.missing},
    }
    said = "can be restored" if checked_only else "restored"
    before = f" with {len(chain) - 1} before it" if len(chain) > 1 else ""
    files = f", {last.files} files" if last.files else ""
    missing = f" ({last.media.missing} were missing already)" if last.media.missing else ""
    told = f"{said}  {name}{before}  {sum(counts.values())} rows{files}{missing}"
    screen.answer(facts, [told])
