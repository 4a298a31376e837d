"""A whole file: where it comes from, its preview, and the import of it chunk by chunk."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import BinaryIO

from django.db import transaction

from leads.conf import conf
from leads.errors import ImportRefused
from leads.importing.columns import Layout, read_header
from leads.importing.lines import Record, encoding_of, lines, records
from leads.importing.load import Loaded, known_events, load
from leads.importing.rows import read_row
from leads.wake import wake_after_commit

BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person sees before saying yes."""

    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    rows: list[list[str]]


def blocks_of(file: BinaryIO, *, limit: int) -> Iterator[bytes]:
    """The file in blocks. Raises ``ImportRefused`` beyond ``limit`` bytes."""
    read = 0
    while block := file.read(BLOCK):
        read += len(block)
        if read > limit:
            raise ImportRefused(
                f"Expected a file of at most {limit} bytes, got a longer one; split it."
            )
        yield block


def open_file(blocks: Iterable[bytes]) -> tuple[Layout, Iterator[Record]]:
    """The layout of a file and its records, numbered as in the file. Raises ``ImportRefused``."""
    source = lines(blocks)
    header, _ = next(source, (None, 0))
    layout = read_header(header)
    numbered = records(source, layout.delimiter)
    return layout, _without_blank_end(_shifted(numbered))


def preview(blocks: Iterable[bytes], *, rows: int = 10, width: int = 60) -> Preview:
    """The first records as they were understood. Raises ``ImportRefused``."""
    source = iter(blocks)
    first = next(source, b"")
    layout, found = open_file(chain([first], source))
    count = len(layout.names)
    shown = [
        [cell[:width] for cell in each.cells] + [""] * (count - len(each.cells))
        for each in islice(found, rows)
    ]
    safe = [
        [cell.encode("utf-8", "replace").decode().replace("\x00", "?") for cell in cells]
        for cells in shown
    ]
    names = {",": "commas", ";": "semicolons", "\t": "tabs"}
    encodings = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
    return Preview(encodings[encoding_of(first)], names[layout.delimiter], layout.names, safe)


def import_blocks(
    blocks: Iterable[bytes],
    *,
    tenant: str | None,
    arm_leads: bool,
    by: str,
    skip: int = 0,
    after: Callable[[Loaded, int, int], None] = lambda _loaded, _count, _position: None,
) -> Loaded:
    """Import a file, each chunk in a transaction of its own. Answers the whole outcome.

    ``after(loaded, count, position)`` runs inside each chunk's transaction with what became of its
    ``count`` records; ``skip`` leaves out as many records at the start, which an earlier run stored.
    """
    layout, found = open_file(blocks)
    events = known_events(tenant)
    total = Loaded()
    left = islice(found, skip, None)
    while chunk := list(islice(left, conf().leads_import_chunk)):
        with transaction.atomic():
            rows = (read_row(record, layout, events) for record in chunk)
            loaded = load(rows, arm_leads=arm_leads, by=by)
            after(loaded, len(chunk), chunk[-1].position)
            if arm_leads and loaded.imported:
                wake_after_commit()
        total.add(loaded)
    return total


def _shifted(found: Iterator[Record]) -> Iterator[Record]:
    """Numbered from the top of the file: the header is line 1."""
    for each in found:
        yield Record(each.line + 1, each.cells, each.problem, each.position)


def _without_blank_end(found: Iterator[Record]) -> Iterator[Record]:
    """Blank lines at the very end say nothing; elsewhere they are records that are empty."""
    blank: list[Record] = []
    for each in found:
        if each.problem is None and not each.cells:
            blank.append(each)
            continue
        yield from blank
        blank.clear()
        yield each
