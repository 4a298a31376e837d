"""A table's rows as JSON lines, streamed from a snapshot by COPY."""

from collections.abc import Iterable, Iterator
from typing import Any

from psycopg.abc import Buffer

from backups.data.pages import pages_query
from backups.data.snapshot import Snapshot
from backups.data.tables import Table
from backups.data.text_form import lines_query

BLOCK = 64 * 1024
HEADER = 19  # bytes of a binary COPY before its first row
FIELD = 6  # bytes of a row before its only value: how many values, and the length of this one


class Export:
    """The lines of one table, of one tenant's rows where one is given; to be iterated once.

    with snapshot(tables) as taken:
        target.put(name, Export(taken, table))

    Yields blocks of whole lines: about 64 KiB, or the lines of eight pages of the table, or one line if that is longer;
    UTF-8, each line ends with a line feed. Holds one block in memory. A row whose text form is beyond PostgreSQL's 1 GB
    raises the database's error.
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
        self._connection = taken.connection
        self._table = table
        self._tenant = tenant
        self._query = query

    def __iter__(self) -> Iterator[bytes]:
        query, params = self._lines()
        statement = f"COPY ({query}) TO STDOUT (FORMAT binary)"
        held: list[memoryview] = []
        size = 0
        with self._connection.cursor() as cursor, cursor.copy(statement, params) as copy:
            for text in _texts(copy):
                held.append(text)
                size += len(text)
                if size >= BLOCK:
                    yield _block(held)
                    held, size = [], 0
        if held:
            yield _block(held)

    def _lines(self) -> tuple[str, tuple[Any, ...] | None]:
        if self._query is not None:
            return self._query, None
        if self._tenant is None:
            query = pages_query(self._connection, self._table)
            if query is not None:
                return query, None
        return lines_query(self._connection, self._table, self._tenant)


def _block(held: list[memoryview]) -> bytes:
    return b"\n".join([*held, b""])


def _texts(messages: Iterable[Buffer]) -> Iterator[memoryview]:
    """The values of the one column of a binary COPY, without NULL. The server sends each row as one message."""
    start = HEADER + FIELD
    for message in messages:
        if len(message) > start:
            yield memoryview(message)[start:]
        start = FIELD
