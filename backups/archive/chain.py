"""An incremental archive and all that it goes on from, down to a full one."""

from backups.archive.manifest import Manifest
from backups.archive.read import Archive, open_archive
from backups.archive.schema import Schema
from backups.errors import ArchiveMissing, ArchiveUnfinished, ChainBroken, ParentMissing
from backups.keys import KeyRing
from backups.targets.store import Store


def open_chain(
    store: Store,
    name: str,
    ring: KeyRing,
    *,
    schema: Schema | None = None,
    encrypted: bool = False,
) -> list[Archive]:
    """The archive ``name`` and its ancestors, the full one first; a full archive is alone. Each as ``open_archive``.

    Raises ``ParentMissing``, ``ChainBroken`` for a parent that is another archive than the one that was continued,
    and what ``open_archive`` raises.
    """
    found = [open_archive(store, name, ring, schema=schema, encrypted=encrypted)]
    while (child := found[-1].manifest).parent is not None:
        try:
            parent = open_archive(
                store, child.parent.name, ring, schema=schema, encrypted=encrypted
            )
        except (ArchiveMissing, ArchiveUnfinished) as missing:
            raise ParentMissing(
                f"{child.name} holds what changed since {child.parent.name}, which cannot be read: {missing}"
                " Bring it back to the target, or take an archive that does not need it."
            ) from None
        _refuse_another(child, parent.manifest)
        found.append(parent)
    return found[::-1]


def _refuse_another(child: Manifest, parent: Manifest) -> None:
    """Going back in time also ends a circle."""
    assert child.parent is not None
    is_it = (
        parent.archive == child.parent.archive
        and parent.scope == child.scope
        and parent.snapshot.at == child.period.since
        and parent.snapshot.at < child.snapshot.at
        and parent.snapshot.lineage == child.snapshot.lineage
        and parent.options == child.options
        and parent.counts.keys() == child.counts.keys()
    )
    if not is_it:
        raise ChainBroken(
            f"{child.name} holds what changed since {child.parent.name}, but the archive of that name is another one."
        )
