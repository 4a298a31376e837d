"""An archive's lines as rows, a batch at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from backups.archive.read import Archive
from backups.data.lines import lines
from backups.data.load import LoadRefused
from backups.data.tables import Table

BATCH = 500

Row = dict[str, str | None]

_line = msgspec.json.Decoder(dict[str, str | None])


def rows(archive: Archive, table: Table) -> Iterator[Row]:
    """The rows of a table in the order in which they lie. Raises ``LoadRefused``, ``ArchiveError``, ``TargetError``."""
    expected = frozenset(table.columns)
    for number, line in enumerate(lines(archive.rows(table.label)), start=1):
        try:
            row = _line.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise LoadRefused(
                f"{table.label}, line {number}: expected a JSON object of texts."
            ) from None
        if row.keys() != expected:
            raise LoadRefused(
                f"{table.label}, line {number}: the columns are not those of the table here:"
                " restore with the version that wrote the archive, then upgrade."
            )
        yield row


def batches(given: Iterable[Row], *, after: int = 0) -> Iterator[list[Row]]:
    """Lists of up to 500 rows, without the first ``after``."""
    left = islice(given, after, None)
    while batch := list(islice(left, BATCH)):
        yield batch
