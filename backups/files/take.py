"""From the storages into an archive: every file that rows name, its content once."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from django.core.files.storage import Storage

from backups.archive.measure import Measure
from backups.archive.write import ArchiveWriter
from backups.errors import ContentDiffers, FileMissing
from backups.files.columns import Storages
from backups.files.contents import content
from backups.files.listed import CHANGING, MISSING, Listed, line
from backups.files.names import Named

TRIES = 3
A_LIST = 10_000  # lines; they are in memory, about 200 bytes each


def take(
    named: Iterable[Named],
    storages: Storages,
    writer: ArchiveWriter,
    *,
    held: Collection[str] = (),
    checkpoint: Callable[[], object] = lambda: None,
    told: Callable[[int, int], object] = lambda done, of: None,
) -> None:
    """Write the contents and the lists of all ``named``, which are sorted by name.

    A content whose digest is in ``held``, for it is in an archive that this one goes on from, is listed and not stored
    again. A file is read once for its digest and, when its content is to be stored, once more: nothing is staged. One
    that is not there, or was another each time, is listed without a content: no later attempt would find it either, and
    the rest must not wait for it. A storage that fails raises ``FileUnreadable``: without its files this is no archive.
    ``checkpoint`` is called for each piece. Raises ``TargetError``.
    """
    some: list[Listed] = []
    taken = _taken(named, storages, writer, held, checkpoint)
    for done, (each, listed) in enumerate(taken, start=1):
        some.append(listed)
        if len(some) == A_LIST:
            _keep(writer, some)
        told(done, each.of)
    if some:
        _keep(writer, some)


def _keep(writer: ArchiveWriter, some: list[Listed]) -> None:
    missing = sum(each.sha256 is None for each in some)
    writer.add_files(map(line, some), missing=missing)
    some.clear()


def _taken(
    named: Iterable[Named],
    storages: Storages,
    writer: ArchiveWriter,
    held: Collection[str],
    checkpoint: Callable[[], object],
) -> Iterator[tuple[Named, Listed]]:
    """A name that several columns have for the same file is read once, so that they have the same content."""
    name, found = "", dict[int, Listed]()
    for each in named:
        if each.name != name:
            name, found = each.name, {}
        storage = storages[each.column]
        if (same := found.get(id(storage))) is not None:
            yield (
                each,
                Listed(
                    column=each.column,
                    name=name,
                    sha256=same.sha256,
                    bytes=same.bytes,
                    why=same.why,
                ),
            )
            continue
        found[id(storage)] = listed = _take(each, storage, writer, held, checkpoint)
        yield each, listed


def _take(
    each: Named,
    storage: Storage,
    writer: ArchiveWriter,
    held: Collection[str],
    checkpoint: Callable[[], object],
) -> Listed:
    for _ in range(TRIES):
        read = Measure()
        try:
            for _piece in read.through(content(storage, each.name, each.column)):
                checkpoint()
            if read.sha256 not in held:
                writer.add_media(read.sha256, partial(content, storage, each.name, each.column))
        except FileMissing:
            return Listed(column=each.column, name=each.name, why=MISSING)
        except ContentDiffers:
            continue
        return Listed(column=each.column, name=each.name, sha256=read.sha256, bytes=read.bytes)
    return Listed(column=each.column, name=each.name, why=CHANGING)
