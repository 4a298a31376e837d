"""The encryption of a member: AES-256-GCM in chunks that know where they belong.

A member is a header and chunks of 64 KiB (the last may be shorter), each followed by its tag of 16 bytes:

- header: ``HQSEAL1`` and a line feed, then 32 random bytes, the salt of this writing of this member;
- key: HKDF-Expand over the archive's key, see ``backups.keys``; no two writings share one;
- nonce: the number of the chunk in 11 bytes, then one byte that is 1 for the last chunk and 0 before it;
- associated data: the 16 bytes of the archive's id and the path of the member.

So a chunk that was changed, moved, dropped or taken from another member or archive does not open, nor does
a member that was cut between chunks: this is the construction STREAM, in the layout that age uses.
"""

from collections.abc import Iterable, Iterator
from secrets import token_bytes

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backups.errors import MemberDamaged
from backups.keys import ArchiveKeys

MAGIC = b"HQSEAL1\n"
SALT = 32  # bytes
CHUNK = 64 * 1024  # bytes of content
TAG = 16  # bytes


def sealed(pieces: Iterable[bytes], keys: ArchiveKeys, path: str) -> Iterator[bytes]:
    """The encrypted member, streamed."""
    salt = token_bytes(SALT)
    yield MAGIC + salt
    box, bound = AESGCM(keys.member(salt)), keys.bound_to(path)
    for number, last, chunk in _chunks(pieces, CHUNK):
        yield box.encrypt(_nonce(number, last), chunk, bound)


def opened(pieces: Iterable[bytes], keys: ArchiveKeys, path: str) -> Iterator[bytes]:
    """The content of an encrypted member; nothing is handed out that is not authentic.

    That the content is whole is known at its end only. Raises ``MemberDamaged``.
    """
    stream = iter(pieces)
    salt, rest = _header(stream)
    box, bound = AESGCM(keys.member(salt)), keys.bound_to(path)
    for number, last, chunk in _chunks(_with(rest, stream), CHUNK + TAG):
        try:
            content = box.decrypt(_nonce(number, last), chunk, bound)
        except (InvalidTag, ValueError):
            raise MemberDamaged(
                f"Its encrypted chunk {number} is not the one written here."
            ) from None
        if not content and number:
            raise MemberDamaged("It ends with an empty chunk that nobody writes.")
        yield content


def _header(stream: Iterator[bytes]) -> tuple[bytes, bytes]:
    head = b""
    while len(head) < len(MAGIC) + SALT:
        piece = next(stream, None)
        if piece is None:
            raise MemberDamaged("It ends before its encrypted content begins.")
        head += piece
    if not head.startswith(MAGIC):
        raise MemberDamaged("It does not begin as an encrypted member does.")
    start = len(MAGIC) + SALT
    return head[len(MAGIC) : start], head[start:]


def _with(first: bytes, stream: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from stream


def _chunks(pieces: Iterable[bytes], size: int) -> Iterator[tuple[int, bool, bytes]]:
    """Number, whether it is the last, and content: all of ``size`` bytes but the last, which may be empty."""
    number, waiting = 0, bytearray()
    for piece in pieces:
        view = memoryview(piece)
        while len(view):
            if len(waiting) == size:  # more follows, so this one is not the last
                yield number, False, bytes(waiting)
                number += 1
                waiting.clear()
            room = size - len(waiting)
            waiting += view[:room]
            view = view[room:]
    yield number, True, bytes(waiting)


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11, "big") + (b"\x01" if last else b"\x00")
