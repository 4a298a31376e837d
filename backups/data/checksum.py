"""Whether two sets of rows are equal, in whatever order they stand: in a database, or in lines of an archive."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from django.db.backends.base.base import BaseDatabaseWrapper

from backups.data.tables import Table
from backups.data.text_form import lines_query

HALVES = """
SELECT count(*), coalesce(sum(('x' || substr(digest, 1, 16))::bit(64)::bigint), 0),
    coalesce(sum(('x' || substr(digest, 17, 16))::bit(64)::bigint), 0)
FROM (SELECT encode(sha256(convert_to(line, 'UTF8')), 'hex') AS digest FROM ({lines}) AS every) AS digests
"""


@dataclass(frozen=True, slots=True)
class Checksum:
    """The number of rows, and the sum of their digests (the first 128 bits of each line's SHA-256) in two halves."""

    rows: int
    first: int
    second: int


def of_table(connection: BaseDatabaseWrapper, table: Table, tenant: str | None = None) -> Checksum:
    """The checksum of what an export of this table writes, computed by the server.

    Within a snapshot, or a transaction that has executed ``text_form.SETTINGS``, which some types' texts depend on.
    """
    query, params = lines_query(connection, table, tenant)
    with connection.cursor() as cursor:
        cursor.execute(HALVES.format(lines=query), params)
        rows, first, second = cursor.fetchone()
    return Checksum(rows, int(first), int(second))


def of_tables(
    connection: BaseDatabaseWrapper, tables: Sequence[Table], tenant: str | None = None
) -> dict[str, Checksum]:
    """The same for several, by label."""
    return {table.label: of_table(connection, table, tenant) for table in tables}


def of_lines(given: Iterable[bytes]) -> Checksum:
    """The same of lines that were kept, without their line feeds: as ``lines`` makes them of blocks."""
    rows = first = second = 0
    for line in given:
        digest = sha256(line).digest()
        rows += 1
        first += int.from_bytes(digest[:8], "big", signed=True)
        second += int.from_bytes(digest[8:16], "big", signed=True)
    return Checksum(rows, first, second)
