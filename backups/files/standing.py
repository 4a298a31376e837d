"""How a file of an archive stands in its storage."""

from collections.abc import Iterator
from enum import Enum

from django.core.files.storage import Storage

from backups.archive.measure import Measure
from backups.archive.read import Archive
from backups.errors import FileMissing, FileThere, NameOutside
from backups.files.contents import content
from backups.files.listed import Listed


class Standing(Enum):
    """A file in its storage: as it should be, not there, or broken off by a process that died while it wrote it."""

    THERE = "there"
    ABSENT = "absent"
    BEGUN = "begun"


def standing_of(storage: Storage, listed: Listed, number: int, holder: Archive) -> Standing:
    """A file that is shorter than the archive's, and begins like it, is one that was broken off.

    ``number`` is its place in the archive's lists, ``holder`` the archive with its content. Raises ``FileThere``,
    ``FileUnreadable``, and as ``Archive.media``.
    """
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
    raise is_another(listed, number)


def is_another(listed: Listed, number: int) -> FileThere:
    return FileThere(
        f"File {number} of the archive, of {listed.column}, is there with another content: move that away first."
        " manage.py backups files tells its name."
    )


def outside(listed: Listed, number: int) -> NameOutside:
    return NameOutside(
        f"The name of file {number} of the archive, of {listed.column}, leads out of its storage."
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
