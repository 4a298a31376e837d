"""A line of an archive's lists of files."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from backups.archive.manifest import Count, Digest
from backups.archive.read import Archive
from backups.data.lines import lines
from backups.errors import MemberDamaged

MISSING = "missing"
CHANGING = "changing"


class Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file that rows call ``name`` in the column ``app.Model.column``, and the content it had.

    ``sha256`` None: it has none in the archive. ``why``: ``missing``, it was not in its storage; ``changing``, it was
    another each time it was read.
    """

    column: str
    name: Annotated[str, msgspec.Meta(min_length=1)]
    sha256: Digest | None = None
    bytes: Count = 0
    why: str = ""


_decoder = msgspec.json.Decoder(Listed)


def line(listed: Listed) -> bytes:
    return msgspec.json.encode(listed) + b"\n"


def listed_in(archive: Archive) -> Iterator[Listed]:
    """All of them, in the order of the lists. Raises ``MemberDamaged``, and as ``Archive.rows`` does."""
    for number, each in enumerate(lines(archive.files()), start=1):
        try:
            yield _decoder.decode(each)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise MemberDamaged(f"Line {number} of the lists of files names no file.") from None
