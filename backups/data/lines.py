"""Lines out of blocks that were cut anywhere, as an export, targets and decompressors hand them out."""

from collections.abc import Iterable, Iterator


def lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without their line feeds. Holds a block and a line; a last line without an end is a line too."""
    begun: list[bytes] = []
    for block in blocks:
        head, end, rest = block.partition(b"\n")
        begun.append(head)
        if end:
            yield b"".join(begun)
            whole, _, last = rest.rpartition(b"\n")
            if whole:
                yield from whole.split(b"\n")
            begun = [last]
    if last := b"".join(begun):
        yield last
