"""One content into a storage, under exactly its name."""

import os
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath
from tempfile import TemporaryFile

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.base import File
from django.core.files.storage import Storage

from backups.archive.measure import Measure
from backups.errors import FileUnwritable, MemberDamaged
from backups.files.listed import Listed
from backups.files.standing import is_another, outside


def write(storage: Storage, listed: Listed, number: int, pieces: Iterator[bytes]) -> None:
    """Nothing of it is in the storage before the last piece has come and was compared; then it is on the disk, or
    wherever the storage keeps files. Raises ``MemberDamaged``, ``FileThere``, ``FileUnwritable``, ``NameOutside``.
    """
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
            raise outside(listed, number) from None
        except Exception as failed:  # each kind of storage has errors of its own
            raise FileUnwritable(
                f"File {number} of the archive, of {listed.column}, cannot be written: {type(failed).__name__}."
            ) from None
    if normpath(saved) != normpath(listed.name):
        storage.delete(saved)  # somebody was faster under the name that it has
        raise is_another(listed, number)
    _settle(storage, saved)


def _settle(storage: Storage, name: str) -> None:
    """The rows that name it, and the note that it is done, are on a disk when they are committed; it must be before."""
    try:
        path = Path(storage.path(name))
    except NotImplementedError:  # no file system: what it answered for is safe
        return
    for each in (path, path.parent):
        opened = os.open(each, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
