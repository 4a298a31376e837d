"""Lines out of blocks that were cut anywhere, as an export, targets and decompressors hand them out."""

from collections.abc import Iterable, Iterator

from backups.errors import MemberDamaged

LONGEST = 2**30  # bytes: PostgreSQL makes no longer text of a row


def lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without their line feeds. Holds a block and a line; a last line without an end is a line too.

    Raises ``MemberDamaged`` before it holds a line that no row has: little that is packed may be endless.
    """
    begun: list[bytes] = []
    held = 0
    for block in blocks:
        head, end, rest = block.partition(b"\n")
        begun.append(head)
        held += len(head)
        if held > LONGEST:
            raise MemberDamaged("A record is longer than a row can be.")
        if end:
            yield b"".join(begun)
            whole, _, last = rest.rpartition(b"\n")
            if whole:
                yield from whole.split(b"\n")
            begun, held = [last], len(last)
    if last := b"".join(begun):
        yield last
