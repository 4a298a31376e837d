"""The content of a file in a storage, streamed."""

from collections.abc import Iterator
from errno import EISDIR, ENAMETOOLONG, ENOENT, ENOTDIR

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import Storage

from backups.errors import FileMissing, FileUnreadable
from backups.files.columns import refuse_outside

PIECE = 256 * 1024
NO_FILE = {ENOENT, ENOTDIR, EISDIR, ENAMETOOLONG}


def content(storage: Storage, name: str, column: str) -> Iterator[bytes]:
    """The file in pieces. ``column`` is for the sentence of an error, which quotes no name.

    Raises ``FileMissing`` when the storage has no such file, or no file can be called so; ``FileUnreadable`` when the
    storage fails.
    """
    try:
        refuse_outside(name)
        with storage.open(name, "rb") as file:
            yield from file.chunks(PIECE)
    except (FileNotFoundError, SuspiciousFileOperation):
        raise FileMissing(f"A file that {column} names is not in its storage.") from None
    except Exception as failed:  # each kind of storage has errors of its own
        if isinstance(failed, OSError) and failed.errno in NO_FILE:
            raise FileMissing(f"A file that {column} names is not in its storage.") from None
        raise FileUnreadable(
            f"A file that {column} names cannot be read: {type(failed).__name__}."
        ) from None
