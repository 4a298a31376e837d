"""A batch of rows in one statement, into a table that holds rows. No model's ``save()`` runs, no signal is sent."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import DataError, IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from backups.data.load import LoadRefused, refusal
from backups.data.tables import Table
from backups.models import BackupRestore
from backups.restoring.reading import Row

# The type's own name: a cast to it reads a text as its input function does, and lengths are checked on storing.
TYPES = """
SELECT attname, quote_ident(nspname) || '.' || quote_ident(typname) FROM pg_attribute
JOIN pg_type ON pg_type.oid = atttypid JOIN pg_namespace ON pg_namespace.oid = typnamespace
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""


def types_of(connection: BaseDatabaseWrapper, table: Table) -> dict[str, str]:
    """The type of each column, quoted."""
    with connection.cursor() as cursor:
        cursor.execute(TYPES, [connection.ops.quote_name(table.name)])
        return dict(cursor.fetchall())


def write(
    connection: BaseDatabaseWrapper,
    table: Table,
    types: dict[str, str],
    rows: Sequence[Row],
    *,
    late: Sequence[str] = (),
    if_there: str = "",
) -> list[Row]:
    """Insert rows, the columns ``late`` as NULL; answers those that were written.

    ``if_there`` says what becomes of a row whose key is there, ``BackupRestore.IfThere``; empty: it is refused. The
    transaction must have executed ``text_form.SETTINGS``. Raises ``LoadRefused``, which quotes no row.
    """
    named = [_name(connection, column) for column in table.columns]
    values = [
        f"given.{name}::{types[column]}" for name, column in zip(named, table.columns, strict=True)
    ]
    keys = [_name(connection, column) for column in key_of(table)]
    texts = ", ".join(f"given.{key}" for key in keys)
    statement = (
        f"WITH given AS MATERIALIZED (SELECT * FROM unnest({_arrays(named)}) AS given ({', '.join(named)})),"
        f" written AS (INSERT INTO {_name(connection, table.name)} ({', '.join(named)})"
        f" SELECT {', '.join(values)} FROM given{_conflict(keys, named, if_there)}"
        f" RETURNING {', '.join(keys)})"
        f" SELECT {texts} FROM given JOIN written ON {_equal('written', keys, types, table)}"
    )
    with refusing(table), connection.cursor() as cursor:
        cursor.execute(
            statement,
            [[None if column in late else row[column] for row in rows] for column in table.columns],
        )
        written = set(cursor.fetchall())
    return [row for row in rows if tuple(row[column] for column in key_of(table)) in written]


def link(
    connection: BaseDatabaseWrapper,
    table: Table,
    types: dict[str, str],
    rows: Sequence[Row],
    late: Sequence[str],
) -> None:
    """Set the columns ``late`` of rows that are there. Raises ``LoadRefused``."""
    keys = [_name(connection, column) for column in key_of(table)]
    set_ = [_name(connection, column) for column in late]
    sets = ", ".join(
        f"{name} = given.{name}::{types[column]}" for name, column in zip(set_, late, strict=True)
    )
    statement = (
        f"UPDATE {_name(connection, table.name)} AS written SET {sets}"
        f" FROM unnest({_arrays(keys + set_)}) AS given ({', '.join(keys + set_)})"
        f" WHERE {_equal('written', keys, types, table)}"
    )
    with refusing(table), connection.cursor() as cursor:
        given = [[row[column] for row in rows] for column in (*key_of(table), *late)]
        cursor.execute(statement, given)


def these(
    connection: BaseDatabaseWrapper, table: Table, types: dict[str, str], rows: Sequence[Row]
) -> str:
    """The condition, as SQL without parameters, that holds for the rows of the table with the keys of these."""
    columns = key_of(table)
    quote = connection.ops.quote_name
    named = ", ".join(quote(column) for column in columns)
    values = ", ".join(f"given.{quote(column)}::{types[column]}" for column in columns)
    with connection.cursor() as cursor:
        texts = ", ".join(
            f"{sql.Literal([row[column] for row in rows]).as_string(cursor.connection)}::text[]"
            for column in columns
        )
    return f"({named}) IN (SELECT {values} FROM unnest({texts}) AS given ({named}))"


def check_references(connection: BaseDatabaseWrapper, table: Table) -> None:
    """Look at the references that were written so far in this transaction. Raises ``LoadRefused``."""
    with refusing(table), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def key_of(table: Table) -> list[str]:
    """The columns of the primary key."""
    return [field.column or "" for field in table.model._meta.pk_fields]


@contextmanager
def refusing(table: Table) -> Iterator[None]:
    """What the database says of rows becomes ``LoadRefused``; a lost connection passes through."""
    try:
        yield
    except (IntegrityError, DataError) as error:
        raise LoadRefused(f"{table.label}: {refusal(error)}") from None


def _conflict(keys: Sequence[str], named: Sequence[str], if_there: str) -> str:
    if not if_there:
        return ""
    others = [name for name in named if name not in keys]
    if if_there == BackupRestore.IfThere.SKIP or not others:
        return f" ON CONFLICT ({', '.join(keys)}) DO NOTHING"
    sets = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
    return f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}"


def _arrays(named: Sequence[str]) -> str:
    return ", ".join("%s::text[]" for _ in named)


def _equal(of: str, keys: Sequence[str], types: dict[str, str], table: Table) -> str:
    return " AND ".join(
        f"{of}.{key} = given.{key}::{types[column]}"
        for key, column in zip(keys, key_of(table), strict=True)
    )


def _name(connection: BaseDatabaseWrapper, name: str) -> str:
    """Quoted, for a statement that has parameters."""
    return str(connection.ops.quote_name(name)).replace("%", "%%")
