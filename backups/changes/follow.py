"""After every ``migrate`` the tables that are declared incremental have change triggers, and no others."""

from typing import Any

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.changes.track import COLUMN, is_current, track, untrack
from backups.data.spec import discover
from backups.data.tables import Table, tables

# Of a plain table: see `track.TRACKED`.
ARE_THERE = """
SELECT count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped AND attname = ANY (%s)
    AND relkind = 'r' AND NOT relhassubclass
"""
TRACKED_NOW = """
SELECT DISTINCT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE tgname IN ('backups_changed', 'backups_deleted') AND pg_table_is_visible(pg_class.oid)
"""


def follow_migrations(*, using: str, **_: Any) -> None:
    """The receiver of ``post_migrate``."""
    follow(using)


def follow(using: str) -> None:
    """Make the triggers that are missing, and take away those of what is not declared any more.

    In one transaction, which waits for whoever uses a table that gets triggers. Where the table of tombstones is not
    (this application is not migrated there) nothing happens: the applications do not need it. Raises ``SpecRefused``.
    """
    declared = {each.name: each for each in tables(discover()) if each.declared.incremental}
    connection = connections[using]
    with transaction.atomic(using=using):
        if not _has(connection, "backups_tombstone", ["xid"]):
            return
        for table in declared.values():
            if _is_migrated(connection, table) and not is_current(connection, table):
                track(connection, table)
        for name in _tracked_now(connection) - declared.keys():
            untrack(connection, name)


def _is_migrated(connection: BaseDatabaseWrapper, table: Table) -> bool:
    """Its application may be at an earlier migration, or not be in this database at all."""
    stamp = table.declared.changed_in
    needed = {field.column or "" for field in table.model._meta.pk_fields}
    return _has(connection, table.name, sorted(needed | ({stamp} - {COLUMN})))


def _has(connection: BaseDatabaseWrapper, name: str, columns: list[str]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(ARE_THERE, [connection.ops.quote_name(name), columns])
        return bool(cursor.fetchone()[0] == len(columns))


def _tracked_now(connection: BaseDatabaseWrapper) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(TRACKED_NOW)
        return {name for (name,) in cursor.fetchall()}
