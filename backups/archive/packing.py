"""Zstandard, streamed, with bounded memory on both ways."""

import sys
from collections.abc import Iterable, Iterator

from backups.errors import MemberDamaged

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 3
_PIECE = 256 * 1024  # bytes handed on at once, however well they were packed


def packed(pieces: Iterable[bytes], *, level: int = LEVEL) -> Iterator[bytes]:
    """One frame with a checksum of its content. Empty pieces are passed over."""
    compressor = zstd.ZstdCompressor(
        options={
            zstd.CompressionParameter.compression_level: level,
            zstd.CompressionParameter.checksum_flag: 1,
        }
    )
    for piece in pieces:
        if out := compressor.compress(piece):
            yield out
    yield compressor.flush(compressor.FLUSH_FRAME)


def unpacked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The content of exactly one frame, in pieces of up to 256 KiB. Raises ``MemberDamaged``."""
    decompressor = zstd.ZstdDecompressor()
    for piece in pieces:
        if decompressor.eof and piece:
            raise MemberDamaged("Something follows the end of the compressed content.")
        yield from _drawn(decompressor, piece)
    if not decompressor.eof:
        raise MemberDamaged("The compressed content ends too early.")


def _drawn(decompressor: zstd.ZstdDecompressor, piece: bytes) -> Iterator[bytes]:
    while True:
        try:
            out = decompressor.decompress(piece, max_length=_PIECE)
        except zstd.ZstdError:
            raise MemberDamaged("The compressed content cannot be unpacked.") from None
        if out:
            yield out
        if decompressor.eof:
            if decompressor.unused_data:
                raise MemberDamaged("Something follows the end of the compressed content.")
            return
        if decompressor.needs_input:
            return
        piece = b""
