"""``checksums.txt``: what ``sha256sum -c`` reads, and the last that is written of an archive."""

import re
from collections.abc import Iterable

from backups.errors import ManifestUnreadable

_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9._/-]+)")


def checksums(digests: Iterable[tuple[str, str]]) -> bytes:
    """The file for these paths and digests."""
    return "".join(f"{digest}  {path}\n" for path, digest in digests).encode()


def parsed(raw: bytes) -> dict[str, str]:
    """The digest of each path. Raises ``ManifestUnreadable``."""
    found: dict[str, str] = {}
    try:
        lines = raw.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise ManifestUnreadable("checksums.txt cannot be read: it must be plain text.") from None
    if lines.pop() != "":
        raise ManifestUnreadable("checksums.txt ends in the middle of a line.")
    for number, line in enumerate(lines, start=1):
        read = _LINE.fullmatch(line)
        if read is None or read[2] in found:
            raise ManifestUnreadable(
                f"Line {number} of checksums.txt is no digest of a path of its own."
            )
        found[read[2]] = read[1]
    return found
