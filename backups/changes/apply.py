"""An incremental archive onto the rows of its parent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.data.load import (
    LoadRefused,
    check_references,
    copy_in,
    prepare,
    refusal,
    refuse_outside_a_transaction,
    set_sequences,
)
from backups.data.tables import Table

# Deferred, as Django makes them: a row that is replaced is away for a moment.
ACTING = """
SELECT conname FROM pg_constraint
WHERE contype = 'f' AND confrelid = %s::regclass AND (confdeltype <> 'a' OR NOT condeferrable)
"""


@dataclass(frozen=True, slots=True)
class Changes:
    """What an incremental archive holds of a table: whole lines. ``gone`` None: ``rows`` are all that there are."""

    table: Table
    rows: Iterable[bytes]
    gone: Iterable[bytes] | None


def apply(connection: BaseDatabaseWrapper, changes: Sequence[Changes]) -> dict[str, int]:
    """Turn the rows of the parent into those of the archive, and answer the rows written of each table by label.

    After ``load`` of the full archive, for each incremental one in their order; in the order of ``tables()``, within a
    transaction that the caller holds open, which nobody else writes these tables in. Changed rows are deleted and
    inserted, so that rows which exchanged a unique value do not meet. Triggers of the database do run.
    Raises ``LoadRefused``, which quotes no row.
    """
    refuse_outside_a_transaction(connection)
    prepare(connection, [each.table for each in changes])
    for each in changes:
        _refuse_acting_references(connection, each.table)
    written = {each.table.label: _apply(connection, each) for each in changes}
    for each in changes:
        set_sequences(connection, each.table)
    check_references(connection)
    return written


def _refuse_acting_references(connection: BaseDatabaseWrapper, table: Table) -> None:
    with connection.cursor() as cursor:
        cursor.execute(ACTING, [connection.ops.quote_name(table.name)])
        if found := cursor.fetchone():
            raise LoadRefused(
                f"{table.label} is referred to by {found[0]}, by which the database acts at once on a deletion:"
                " changes cannot be applied."
            )


def _apply(connection: BaseDatabaseWrapper, changes: Changes) -> int:
    table, quote = changes.table, connection.ops.quote_name
    keys = [field.column or "" for field in table.model._meta.pk_fields]
    named, key = quote(table.name), ", ".join(quote(column) for column in keys)
    columns = ", ".join(quote(column) for column in table.columns)
    with connection.cursor() as cursor:
        try:
            _stage(connection, table, "backups_rows", columns)
            written = copy_in(connection, table, changes.rows, into="backups_rows")
            if changes.gone is None:
                cursor.execute(f"DELETE FROM {named}")
            else:
                _stage(connection, table, "backups_gone", key)
                copy_in(connection, table, changes.gone, into="backups_gone", columns=keys)
                for staged in ("backups_gone", "backups_rows"):
                    cursor.execute(f"ANALYZE {staged}")
                    cursor.execute(
                        f"DELETE FROM {named} WHERE ({key}) IN (SELECT {key} FROM {staged})"
                    )
                cursor.execute("DROP TABLE backups_gone")
            cursor.execute(
                f"INSERT INTO {named} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM backups_rows"
            )
            cursor.execute("DROP TABLE backups_rows")
        except Error as error:
            raise LoadRefused(f"{table.label}: {refusal(error)}") from None
    return written


def _stage(connection: BaseDatabaseWrapper, table: Table, staged: str, columns: str) -> None:
    named = connection.ops.quote_name(table.name)
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMPORARY TABLE {staged} ON COMMIT DROP AS SELECT {columns} FROM {named} WITH NO DATA"
        )
