"""One member at a target: its content, streamed, and whether all of it is what it should be."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from backups.archive.manifest import Member
from backups.archive.measure import Measure
from backups.archive.names import digest_of, holds_lines, is_packed
from backups.archive.packing import unpacked
from backups.archive.sealed import opened
from backups.errors import MemberDamaged, MemberMissing, ObjectMissing
from backups.keys import ArchiveKeys
from backups.targets.store import Store


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found: the bytes as they are stored, and the content in them."""

    stored: Measure
    content_bytes: int
    records: int | None


def content(pieces: Iterable[bytes], path: str, keys: ArchiveKeys | None) -> Iterator[bytes]:
    """The content of a member, decrypted and unpacked. Raises ``MemberDamaged``, maybe after some of it."""
    plain = opened(pieces, keys, path) if keys else pieces
    return unpacked(plain) if is_packed(path) else iter(plain)


def examine(
    store: Store,
    archive: str,
    path: str,
    keys: ArchiveKeys | None,
    *,
    member: Member | None = None,
) -> Examined:
    """Read a member to its end and keep nothing of it.

    Compared are its bytes, digest and records with ``member``, when given, and the digest of a medium with its
    path. Raises ``MemberMissing``, ``MemberDamaged``, and ``TargetError`` for a target that does not answer.
    """
    stored, plain = Measure(), Measure()
    pieces = stored.through(stream(store, archive, path))
    broken: MemberDamaged | None = None
    try:
        for piece in content(pieces, path, keys):
            plain.add(piece)
            plain.add_lines(piece)
    except MemberDamaged as damaged:
        broken = damaged
    for _ in pieces:  # what the content left of it, if that ended before its time
        pass
    if member is not None:
        compare_stored(stored, member)
    if broken is not None:
        raise MemberDamaged(f"{path}: {broken}")
    records = plain.lines if holds_lines(path) else None
    if records is not None and not plain.ends_a_line:
        raise MemberDamaged(f"{path} ends in the middle of a record.")
    if member is not None and records != member.records:
        raise MemberDamaged(f"{path} holds {records} records, {member.records} were written.")
    if (digest := digest_of(path)) and plain.sha256 != digest:
        raise MemberDamaged(f"{path} holds another content than the one it is named by.")
    return Examined(stored, plain.bytes, records)


def stream(store: Store, archive: str, path: str) -> Iterator[bytes]:
    """The bytes of a member as they are stored. Raises ``MemberMissing``, ``TargetError``."""
    try:
        yield from store.get(f"{archive}/{path}")
    except ObjectMissing:
        raise MemberMissing(f"{path} is not at the target.") from None


def compare_stored(stored: Measure, member: Member) -> None:
    """Raise ``MemberDamaged`` when these are not the bytes that were written."""
    if stored.bytes != member.bytes:
        raise MemberDamaged(
            f"{member.path} has {stored.bytes} bytes at the target, {member.bytes} were written."
        )
    if stored.sha256 != member.sha256:
        raise MemberDamaged(
            f"{member.path} has other bytes at the target than those that were written."
        )
