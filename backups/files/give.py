"""From an archive into the storages: every file under exactly the name that its row has."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from posixpath import normpath
from tempfile import TemporaryFile

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import File
from django.core.files.storage import Storage

from backups.archive.measure import Measure
from backups.archive.read import Archive
from backups.errors import (
    FileMissing,
    FileThere,
    MemberDamaged,
    MemberMissing,
    NameOutside,
    SchemaAhead,
)
from backups.files.columns import Storages, refuse_outside
from backups.files.contents import content
from backups.files.listed import Listed, listed_in


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
            _standing(storage, listed, number, holder)
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
    are given. Raises as ``refuse_files``.
    """
    number = after
    for listed in islice(listed_in(chain[-1]), after, None):
        number += 1
        storage = _storage(listed, number, storages)
        if listed.sha256 is not None:
            holder = _holder(chain, listed.sha256)
            standing = _standing(storage, listed, number, holder)
            if standing is Standing.BEGUN:
                storage.delete(listed.name)
            if standing is not Standing.THERE:
                _write(storage, listed, number, holder.media(listed.sha256, kept_back=True))
        told(number)
    return number


class Standing(Enum):
    """A file in its storage: as it should be, not there, or broken off by a process that died while it wrote it."""

    THERE = "there"
    ABSENT = "absent"
    BEGUN = "begun"


def _storage(listed: Listed, number: int, storages: Storages) -> Storage:
    if listed.column not in storages:
        raise SchemaAhead(f"The archive holds files of {listed.column}, which names none here.")
    try:
        refuse_outside(listed.name)
    except SuspiciousFileOperation:
        raise _outside(listed, number) from None
    return storages[listed.column]


def _outside(listed: Listed, number: int) -> NameOutside:
    return NameOutside(
        f"The name of file {number} of the archive, of {listed.column}, leads out of its storage."
    )


def _holder(chain: Sequence[Archive], digest: str) -> Archive:
    for archive in reversed(chain):
        if archive.holds(digest):
            return archive
    raise MemberMissing("The archive lists a file whose content is in no archive of its chain.")


def _standing(storage: Storage, listed: Listed, number: int, holder: Archive) -> Standing:
    """A file that is shorter than the archive's, and begins like it, is one that was broken off."""
    assert listed.sha256 is not None
    there = Measure()
    try:
        for piece in content(storage, listed.name, listed.column):
            there.add(piece)
            if there.bytes > listed.bytes:
                break
    except FileMissing:
        return Standing.ABSENT
    if there.sha256 == listed.sha256:
        return Standing.THERE
    if there.bytes < listed.bytes:
        begins = _beginning(holder.media(listed.sha256), there.bytes)
        if begins == there.sha256:
            return Standing.BEGUN
    raise _is_another(listed, number)


def _is_another(listed: Listed, number: int) -> FileThere:
    return FileThere(
        f"File {number} of the archive, of {listed.column}, is there with another content: move that away first."
        " manage.py backups files tells its name."
    )


def _beginning(pieces: Iterator[bytes], length: int) -> str:
    """The digest of so many bytes."""
    begun, left = Measure(), length
    for piece in pieces:
        begun.add(piece[:left])
        left -= len(piece[:left])
        if not left:
            break
    return begun.sha256


def _write(storage: Storage, listed: Listed, number: int, pieces: Iterator[bytes]) -> None:
    read = Measure()
    with TemporaryFile() as staged:
        for piece in read.through(pieces):
            staged.write(piece)
        if read.sha256 != listed.sha256:
            raise MemberDamaged("A content of the archive is another than the one it is named by.")
        staged.seek(0)
        try:
            saved = storage.save(listed.name, File(staged, listed.name))
        except SuspiciousFileOperation:
            raise _outside(listed, number) from None
    if normpath(saved) != normpath(listed.name):
        storage.delete(saved)  # somebody was faster under the name that it has
        raise _is_another(listed, number)
