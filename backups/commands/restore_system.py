"""``restore --system``: a dump of a whole database."""

from functools import partial
from typing import Any

from backups.archive import schema, told
from backups.archive.names import DUMP
from backups.archive.read import open_archive
from backups.archive.verify import refuse_unsound
from backups.commands import verify
from backups.commands.place import Place
from backups.commands.screen import Screen
from backups.keys import KeyRing
from backups.system.precheck import refuse_other, refuse_toolless
from backups.system.restore import restore


def run(screen: Screen, there: Place, ring: KeyRing, options: dict[str, Any]) -> None:
    """Into an empty database, without even ``migrate``. Raises ``BackupError``."""
    name, using = options["archive"], options["database"]
    archive = open_archive(
        there.store, name, ring, schema=schema.known(), encrypted=there.encrypted
    )
    refuse_other(archive.manifest)
    if options["check"]:
        refuse_toolless(using)
        refuse_unsound(there.store, name, ring, progress=partial(verify.shown, screen, name))
    else:
        restore(archive, using)
    size = archive.manifest.member(DUMP).bytes
    facts = {"archive": name, "restored": not options["check"], "bytes": size}
    said = f"can be restored  {name}  {told.size(size)}"
    if not options["check"]:
        said = f"restored  {name}  {told.size(size)}; every unfinished job is parked: restored"
    screen.answer(facts, [said])
