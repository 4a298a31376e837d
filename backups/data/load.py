"""Rows back into empty tables of the same schema, by COPY: no model's ``save()`` runs, and no signal is sent."""

from collections.abc import Iterable, Sequence

import msgspec
import psycopg
from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus

from backups.data.tables import Table
from backups.data.text_form import SETTINGS
from backups.data.unlimited import unlimit
from backups.errors import BackupError

SEQUENCES = """
SELECT attname, pg_get_serial_sequence(%s, attname) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
    AND pg_get_serial_sequence(%s, attname) IS NOT NULL
"""

_line = msgspec.json.Decoder(dict[str, str | None])


class LoadRefused(BackupError):
    """The rows cannot be loaded; nothing of them is kept once the transaction is rolled back."""

    code = "backups.load_refused"


def load(
    connection: BaseDatabaseWrapper, sources: Sequence[tuple[Table, Iterable[bytes]]]
) -> dict[str, int]:
    """Fill empty tables, in the order given (that of ``tables()``), and answer the rows of each by label.

    Within a transaction that the caller holds open and commits, so that all of it is there or nothing; to its end
    nobody else writes to these tables. References are checked at the end, so that circles load, as long as their
    constraints can be deferred, which those that Django makes can. Each source is read once, when its turn has come:
    whole lines, as ``lines`` makes them of blocks. Triggers of the
    database do run. What ``migrate`` put into tables that are ``made_by_migrate`` is taken away first: caches of
    it, as that of content types, are the caller's to clear.
    Raises ``LoadRefused``, which quotes no row.
    """
    refuse_outside_a_transaction(connection)
    tables = [table for table, _ in sources]
    prepare(connection, tables)
    _refuse_rows(connection, tables)
    loaded = {table.label: copy_in(connection, table, given) for table, given in sources}
    for table in tables:
        set_sequences(connection, table)
    check_references(connection)
    return loaded


def copy_in(
    connection: BaseDatabaseWrapper,
    table: Table,
    given: Iterable[bytes],
    *,
    into: str | None = None,
    columns: Sequence[str] | None = None,
) -> int:
    """Append lines to a table by one COPY and answer their number. In constant memory.

    ``into``: another table than that of ``table``; ``columns``: those of the lines, if not all. The transaction
    must have executed ``text_form.SETTINGS``. Raises ``LoadRefused``.
    """
    quote = connection.ops.quote_name
    columns = table.columns if columns is None else columns
    names = ", ".join(quote(column) for column in columns)
    statement = f"COPY {quote(into or table.name)} ({names}) FROM STDIN"
    expected = frozenset(columns)
    number = 0
    try:
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for line in given:
                number += 1
                row = _read(table, line, number)
                if row.keys() != expected:
                    raise _misfit(table, number, "the columns are not those of the table")
                copy.write_row([row[column] for column in columns])
    except (Error, psycopg.Error) as error:
        raise LoadRefused(f"{table.label}: {refusal(error)}") from None
    return number


def set_sequences(connection: BaseDatabaseWrapper, table: Table) -> None:
    """The next number of each sequence of the table is beyond those of its rows; no sequence goes back.

    One that is beyond them already is left alone: to move one takes the right UPDATE, which few accounts have.
    """
    quote = connection.ops.quote_name
    named = quote(table.name)
    with connection.cursor() as cursor:
        cursor.execute(SEQUENCES, [named, named, named])
        for column, sequence in cursor.fetchall():
            cursor.execute(
                f"SELECT setval(%s, highest) FROM {sequence},"
                f" (SELECT max({quote(column)}) AS highest FROM {named}) AS rows"
                " WHERE highest > 0 AND (highest > last_value OR highest = last_value AND NOT is_called)",
                [sequence],
            )


def refuse_outside_a_transaction(connection: BaseDatabaseWrapper) -> None:
    # Django's `atomic()` sends its BEGIN with the first statement; another's may have been sent already.
    begins = not connection.get_autocommit()
    held = connection.connection
    assert held is not None
    if not begins and held.info.transaction_status != TransactionStatus.INTRANS:
        raise LoadRefused("Loading needs a transaction of the caller's; there is none.")


def prepare(connection: BaseDatabaseWrapper, tables: Sequence[Table]) -> None:
    unlimit(connection)
    with connection.cursor() as cursor:
        for statement in (*SETTINGS, "SET CONSTRAINTS ALL DEFERRED"):
            cursor.execute(statement)
        names = ", ".join(connection.ops.quote_name(table.name) for table in tables)
        if names:
            cursor.execute(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


def _refuse_rows(connection: BaseDatabaseWrapper, tables: Sequence[Table]) -> None:
    with connection.cursor() as cursor:
        for table in reversed(tables):
            named = connection.ops.quote_name(table.name)
            if table.declared.made_by_migrate:
                cursor.execute(f"DELETE FROM {named}")
            cursor.execute(f"SELECT EXISTS (SELECT FROM {named})")
            if cursor.fetchone()[0]:
                raise LoadRefused(f"{table.label} must be empty, but holds rows.")


def _read(table: Table, line: bytes, number: int) -> dict[str, str | None]:
    try:
        return _line.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _misfit(table, number, "no JSON object of texts") from None


def _misfit(table: Table, number: int, why: str) -> LoadRefused:
    return LoadRefused(f"{table.label}, line {number}: {why}.")


def check_references(connection: BaseDatabaseWrapper) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except Error as error:
        raise LoadRefused(f"References lead nowhere: {refusal(error)}") from None


def refusal(error: Exception) -> str:
    """What a refusal of the server says, without its message, which quotes values."""
    cause = error.__cause__ or error
    constraint = getattr(getattr(cause, "diag", None), "constraint_name", None)
    named = f", {constraint}" if constraint else ""
    return f"the database refused it (SQLSTATE {getattr(cause, 'sqlstate', None)}{named})."
