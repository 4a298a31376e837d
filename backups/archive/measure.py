"""Digest and size of what passes by."""

from collections.abc import Iterable, Iterator
from hashlib import sha256


class Measure:
    """Counts and digests pieces on their way. ``bytes`` and ``lines`` are totals so far."""

    def __init__(self) -> None:
        self._digest = sha256()
        self.bytes = 0
        self.lines = 0
        self.ends_a_line = True

    def through(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same pieces, measured."""
        for piece in pieces:
            self.add(piece)
            yield piece

    def add(self, piece: bytes) -> None:
        self._digest.update(piece)
        self.bytes += len(piece)

    def add_lines(self, piece: bytes) -> None:
        """Count the lines that end in ``piece``; no digest is made."""
        self.lines += piece.count(b"\n")
        if piece:
            self.ends_a_line = piece.endswith(b"\n")

    @property
    def sha256(self) -> str:
        """The digest of all that passed, in hexadecimal digits."""
        return self._digest.hexdigest()
