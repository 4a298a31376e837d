"""A file kept in the database until its run has ended, in pieces."""

from collections.abc import Iterable, Iterator

from leads.models import ImportPiece, ImportRun

PIECE = 256 * 1024


def keep(run: ImportRun, blocks: Iterable[bytes]) -> int:
    """Store the file's blocks under the run; answers its size in bytes."""
    held = bytearray()
    number = size = 0
    for block in blocks:
        held += block
        size += len(block)
        while len(held) >= PIECE:
            _store(run, number, bytes(held[:PIECE]))
            del held[:PIECE]
            number += 1
    if held:
        _store(run, number, bytes(held))
    return size


def blocks_of_run(run: ImportRun) -> Iterator[bytes]:
    """The file's bytes, one piece in memory at a time."""
    number = 0
    while True:
        piece = ImportPiece.objects.filter(run=run, number=number).first()
        if piece is None:
            return
        yield bytes(piece.content)
        number += 1


def _store(run: ImportRun, number: int, content: bytes) -> None:
    ImportPiece.objects.create(run=run, number=number, content=content)
