"""From an archive into the storages: every file under exactly the name that its row has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import Storage

from backups.archive.read import Archive
from backups.errors import MemberMissing, SchemaAhead
from backups.files.columns import Storages, refuse_outside
from backups.files.listed import Listed, listed_in
from backups.files.standing import Standing, outside, standing_of
from backups.files.write import write


@dataclass(frozen=True, slots=True)
class Counted:
    """Names, those without a content in the archive among them, and the bytes of the others' contents."""

    names: int = 0
    missing: int = 0
    bytes: int = 0


def refuse_files(
    chain: Sequence[Archive],
    storages: Storages,
    *,
    examine: bool = False,
    told: Callable[[int], object] = lambda done: None,
) -> Counted:
    """Look at every file before one is written; ``chain`` is an archive after those that it goes on from, ``storages``
    are those of the columns here. ``examine`` reads every content too: for an archive that was not verified just now.

    A file that is there with the same content will be left. Raises ``FileThere`` for one with another content,
    ``NameOutside``, ``SchemaAhead`` for a column that names no files here, ``MemberMissing``; and ``ArchiveError``,
    ``FileUnreadable``, ``TargetError``.
    """
    missing = size = number = 0
    for number, listed in enumerate(listed_in(chain[-1]), start=1):
        storage = _storage(listed, number, storages)
        if listed.sha256 is None:
            missing += 1
        else:
            holder = _holder(chain, listed.sha256)
            standing_of(storage, listed, number, holder)
            if examine:
                holder.examine_media(listed.sha256)
            size += listed.bytes
        told(number)
    return Counted(number, missing, size)


def give_files(
    chain: Sequence[Archive],
    storages: Storages,
    *,
    after: int = 0,
    told: Callable[[int], object] = lambda done: None,
) -> int:
    """Write the files into their storages and answer how many names were gone through; ``told`` hears it after each.

    ``after``: so many are done already. Done twice it writes nothing the second time: a file with the same content is
    left, what a process that died left of one is written anew. Written before the rows are committed, so that no row
    names a file that was not written. A content is staged on a disk here, one at a time: storages go back in what they
    are given. Raises as ``refuse_files``, and ``FileUnwritable``.
    """
    number = after
    for listed in islice(listed_in(chain[-1]), after, None):
        number += 1
        storage = _storage(listed, number, storages)
        if listed.sha256 is not None:
            holder = _holder(chain, listed.sha256)
            standing = standing_of(storage, listed, number, holder)
            if standing is Standing.BEGUN:
                storage.delete(listed.name)
            if standing is not Standing.THERE:
                write(storage, listed, number, holder.media(listed.sha256, kept_back=True))
        told(number)
    return number


def _storage(listed: Listed, number: int, storages: Storages) -> Storage:
    if listed.column not in storages:
        raise SchemaAhead(f"The archive holds files of {listed.column}, which names none here.")
    try:
        refuse_outside(listed.name)
    except SuspiciousFileOperation:
        raise outside(listed, number) from None
    return storages[listed.column]


def _holder(chain: Sequence[Archive], digest: str) -> Archive:
    for archive in reversed(chain):
        if archive.holds(digest):
            return archive
    raise MemberMissing("The archive lists a file whose content is in no archive of its chain.")
