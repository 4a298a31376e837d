"""The archives at a target, told from the target alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from backups.archive.names import CHECKSUMS, ArchiveName, Mode
from backups.archive.read import read_manifest
from backups.errors import ArchiveError
from backups.targets.store import Store


class State(StrEnum):
    """``COMPLETE`` has its checksums; ``UNFINISHED`` is ours and has none; ``FOREIGN`` is not ours."""

    COMPLETE = "complete"
    UNFINISHED = "unfinished"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Found:
    """A directory, or a lone object, at the top of a target. ``archive`` is ``None`` for a foreign one."""

    name: str
    state: State
    archive: ArchiveName | None
    objects: int
    bytes: int


def archives(store: Store) -> Iterator[Found]:
    """Everything at the top of a target, by name. One listing; nothing is read. Raises ``TargetError``.

    ``COMPLETE`` says that the run came to its end; that the archive is sound is for ``verify`` to say.
    """
    for top, objects in groupby(store.list(), key=lambda each: each.name.split("/", 1)[0]):
        count = total = 0
        complete = directory = False
        for each in objects:
            count, total = count + 1, total + each.size
            directory = directory or each.name != top
            complete = complete or each.name == f"{top}/{CHECKSUMS}"
        archive = ArchiveName.parse(top) if directory else None
        yield Found(top, _state(archive, complete), archive, count, total)


def parent_of(store: Store, found: Found) -> str | None:
    """The name of the archive that a complete incremental one goes on from, from its manifest, without a key.

    ``None`` for others, and where the manifest cannot be read: ``verify`` says so. Raises ``TargetError``.
    """
    if found.archive is None or found.archive.mode is not Mode.INCREMENTAL:
        return None
    if found.state is not State.COMPLETE:
        return None
    try:
        parent = read_manifest(store, found.name)[0].parent
    except ArchiveError:
        return None
    return parent.name if parent else None


def _state(archive: ArchiveName | None, complete: bool) -> State:
    if archive is None:
        return State.FOREIGN
    return State.COMPLETE if complete else State.UNFINISHED
