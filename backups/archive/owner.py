"""Who is making an archive: an object that lies in its directory until it is complete."""

from backups.archive.names import OWNER
from backups.errors import ObjectMissing
from backups.targets.store import Store

LONGEST = 200  # bytes of a name


def note_owner(store: Store, archive: str, owner: str) -> None:
    """Say that ``owner`` makes the archive, unless that is said already. Its writer takes it away at the end.

    Raises ``TargetError``, and what the store raises besides.
    """
    path = f"{archive}/{OWNER}"
    try:
        store.size(path)
    except ObjectMissing:
        store.put(path, [owner.encode()])


def owner_of(store: Store, archive: str) -> str:
    """Who makes the archive, or left it unfinished; empty when nobody says so. Raises ``TargetError``."""
    said = b""
    try:
        for piece in store.get(f"{archive}/{OWNER}"):
            said += piece
            if len(said) > LONGEST:
                return ""
    except ObjectMissing:
        return ""
    return said.decode(errors="replace")
