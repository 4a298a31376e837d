"""The names that rows have for files, at one moment, without the moment being held while they are read."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from backups.data.snapshot import Snapshot
from backups.data.tables import Table
from backups.data.text_form import rows_condition

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Named:
    """A name in a column, ``app.Model.column``; ``of`` is how many there are in all."""

    column: str
    name: str
    of: int


@contextmanager
def names(
    taken: Snapshot, chosen: Sequence[Table], tenant: str | None = None
) -> Iterator[Iterator[Named]]:
    """Every name once for each column that has it, by name, of one tenant's rows where one is given.

    To be read after ``taken.end()`` as well, within the block: the server then keeps them for its session, on its disk
    where they are many. A few hundred are in memory here.
    """
    parts = [each for table in chosen for each in _selects(taken, table, tenant)]
    if not parts:
        yield iter(())
        return
    every = " UNION ALL ".join(text for text, _ in parts)
    query = f'SELECT "column", name, count(*) OVER () FROM ({every}) AS named ORDER BY name COLLATE "C", "column"'
    # Outside of Django's transactions its cursors on the server hold their rows beyond the commit.
    with closing(taken.connection.chunked_cursor()) as cursor:
        cursor.execute(query, [value for _, params in parts for value in params])
        yield _read(cursor)


def _selects(
    taken: Snapshot, table: Table, tenant: str | None
) -> Iterator[tuple[str, Sequence[Any]]]:
    quote = taken.connection.ops.quote_name
    for field in table.files:
        with taken.connection.cursor() as cursor:
            label = sql.Literal(f"{table.label}.{field.column}").as_string(cursor.connection)
        column, named = _escaped(quote(field.column or "")), _escaped(quote(table.name))
        where, params = rows_condition(taken.connection, table, tenant)
        if params is None:
            where, params = _escaped(where), ()
        rows = f"SELECT {column}::text AS name FROM {named}{where}"
        yield (
            f"SELECT DISTINCT {_escaped(label)}::text AS \"column\", name FROM ({rows}) AS rows WHERE name <> ''",
            params,
        )


def _read(cursor: Any) -> Iterator[Named]:
    while some := cursor.fetchmany(AT_ONCE):
        for each in some:
            yield Named(*each)


def _escaped(text: str) -> str:
    """For a statement that has parameters."""
    return text.replace("%", "%%")
