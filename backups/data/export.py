"""A table's rows as JSON lines, streamed from a snapshot by COPY."""

from collections.abc import Iterator
from typing import Any

from backups.data.snapshot import Snapshot
from backups.data.tables import Table
from backups.data.text_form import lines_query

BLOCK = 64 * 1024
# JSON holds neither of the two, so that CSV leaves every line as it is.
AS_IT_IS = r"(FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')"


class Export:
    """The lines of one table, of one tenant's rows where one is given; to be iterated once.

    with snapshot(tables) as taken:
        rows = Export(taken, table)
        target.put(name, rows)
        rows.records

    Yields blocks of whole lines, about 64 KiB or one line if that is longer; UTF-8, each line ends with a line feed.
    Holds one block in memory. A row whose text form is beyond PostgreSQL's 1 GB raises the database's error.
    """

    def __init__(
        self,
        taken: Snapshot,
        table: Table,
        tenant: str | None = None,
        *,
        query: str | None = None,
    ) -> None:
        """``query``: a SELECT of other lines than the table's, one text column, without parameters."""
        self.records = 0
        self._connection = taken.connection
        self._table = table
        self._tenant = tenant
        self._query = query

    def __iter__(self) -> Iterator[bytes]:
        query, params = self._lines()
        self.records = 0
        statement = f"COPY ({query}) TO STDOUT {AS_IT_IS}"
        held: list[bytes] = []
        size = 0
        with self._connection.cursor() as cursor, cursor.copy(statement, params) as copy:
            for row in copy:
                held.append(bytes(row))
                size += len(held[-1])
                if size >= BLOCK:
                    yield self._block(held)
                    held, size = [], 0
        if held:
            yield self._block(held)

    def _lines(self) -> tuple[str, tuple[Any, ...] | None]:
        if self._query is not None:
            return self._query, None
        return lines_query(self._connection, self._table, self._tenant)

    def _block(self, held: list[bytes]) -> bytes:
        block = b"".join(held)
        self.records += block.count(b"\n")
        return block
