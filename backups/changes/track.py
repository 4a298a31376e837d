"""The change triggers of a table: made, recognised and taken away. Nothing here commits."""

from hashlib import sha256
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from backups.data.tables import Table

COLUMN = "backups_xid"
LONGEST_NAME = 63  # bytes that PostgreSQL takes of one
TRIGGERS = ("backups_deleted", "backups_renamed", "backups_truncated")

# Of constant text, so that the table is not rewritten: rows that were there count as changed by this transaction.
ADD_COLUMN = """
DO $$ BEGIN
    EXECUTE format('ALTER TABLE {table} ADD COLUMN IF NOT EXISTS backups_xid xid8 NOT NULL DEFAULT %L',
        pg_current_xact_id());
END $$;
CREATE TRIGGER backups_changed BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION backups_stamp();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER backups_changed;
"""

# The text of a key must not depend on the session that deletes, nor whether it finds the table of tombstones.
FUNCTION = """
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql
SET DateStyle = 'ISO, YMD' SET IntervalStyle = 'postgres' SET TimeZone = 'UTC'
SET extra_float_digits = 3 SET bytea_output = 'hex' SET search_path FROM CURRENT AS $${body}$$;
"""
DELETED = """
BEGIN
    INSERT INTO backups_tombstone ("table", key)
    SELECT TG_TABLE_NAME, json_build_object({gone_key})::text FROM gone;
    RETURN NULL;
END """
RENAMED = """
BEGIN
    INSERT INTO backups_tombstone ("table", key)
    VALUES (TG_TABLE_NAME, json_build_object({old_key})::text);
    RETURN NULL;
END """

TOMBSTONES = """
CREATE TRIGGER backups_deleted AFTER DELETE ON {table}
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION {deleted}();
CREATE TRIGGER backups_renamed AFTER UPDATE ON {table}
    FOR EACH ROW WHEN (({old}) IS DISTINCT FROM ({new})) EXECUTE FUNCTION {renamed}();
CREATE TRIGGER backups_truncated AFTER TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION backups_mark_whole();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER backups_deleted;
ALTER TABLE {table} ENABLE ALWAYS TRIGGER backups_renamed;
ALTER TABLE {table} ENABLE ALWAYS TRIGGER backups_truncated;
-- Deletions before this left no trace.
INSERT INTO backups_tombstone ("table", key) VALUES ({literal}, NULL);
"""

DROP = """
DROP TRIGGER IF EXISTS backups_truncated ON {table};
DROP TRIGGER IF EXISTS backups_renamed ON {table};
DROP TRIGGER IF EXISTS backups_deleted ON {table};
DROP TRIGGER IF EXISTS backups_changed ON {table};
"""
DROP_REST = """
DROP FUNCTION IF EXISTS {renamed}();
DROP FUNCTION IF EXISTS {deleted}();
ALTER TABLE {table} DROP COLUMN IF EXISTS backups_xid;
DELETE FROM backups_tombstone WHERE "table" = {literal};
"""

# A plain table, a column of it, and every trigger at work. Rows of a partition go without a word of their table's.
TRACKED = """
SELECT count(*) = 3 AND EXISTS (
    SELECT FROM pg_class WHERE oid = %(table)s::regclass AND relkind = 'r' AND NOT relhassubclass)
    AND EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = %(table)s::regclass AND attname = %(column)s AND NOT attisdropped)
    AND (%(column)s <> 'backups_xid' OR EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = %(table)s::regclass AND tgname = 'backups_changed'
            AND tgenabled = 'A'))
FROM pg_trigger WHERE tgrelid = %(table)s::regclass AND tgname = ANY (%(triggers)s) AND tgenabled = 'A'
"""
BODIES = """
SELECT tgname, prosrc FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid WHERE tgrelid = %s::regclass
"""


def is_tracked(connection: BaseDatabaseWrapper, table: Table) -> bool:
    """Whether every change of the table is remembered now. The table is there."""
    with connection.cursor() as cursor:
        cursor.execute(
            TRACKED,
            {
                "table": connection.ops.quote_name(table.name),
                "column": table.declared.changed_in,
                "triggers": list(TRIGGERS),
            },
        )
        return bool(cursor.fetchone()[0])


def is_current(connection: BaseDatabaseWrapper, table: Table) -> bool:
    """The same, and by what ``track`` would make for the key that the model has today."""
    if not is_tracked(connection, table):
        return False
    names = _names(connection, table)
    with connection.cursor() as cursor:
        cursor.execute(BODIES, [names["table"]])
        bodies = dict(cursor.fetchall())
    return (bodies["backups_deleted"], bodies["backups_renamed"]) == (
        DELETED.format(**names),
        RENAMED.format(**names),
    )


def track(connection: BaseDatabaseWrapper, table: Table) -> None:
    """Remember what changes in the table from now on, in the caller's transaction, which locks it. May be repeated.

    The column ``backups_xid``, which the ORM does not know, gets the changing transaction; deletions and changes of
    a key leave tombstones, TRUNCATE a mark. Where ``changed_in`` of the declaration names another column, a trigger
    of the application fills that one already. What was not remembered until now is made good by a mark: the next
    archive holds the whole table.
    """
    names = _names(connection, table)
    statements = [
        DROP.format(**names),
        FUNCTION.format(name=names["deleted"], body=DELETED.format(**names)),
        FUNCTION.format(name=names["renamed"], body=RENAMED.format(**names)),
        TOMBSTONES.format(**names),
    ]
    if table.declared.changed_in == COLUMN:
        statements.append(ADD_COLUMN.format(**names))
    _execute(connection, statements)


def untrack(connection: BaseDatabaseWrapper, name: str) -> None:
    """Take away from the table of this name what ``track`` made, in the caller's transaction."""
    names = _named(connection, name)
    _execute(connection, [DROP.format(**names), DROP_REST.format(**names)])


def _execute(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _named(connection: BaseDatabaseWrapper, name: str) -> dict[str, str]:
    quote = connection.ops.quote_name
    return {
        "table": quote(name),
        "literal": _literal(name),
        "deleted": quote(_function("backups_deleted_", name)),
        "renamed": quote(_function("backups_renamed_", name)),
    }


def _function(prefix: str, name: str) -> str:
    """Its own for each table, however long their names are."""
    whole = f"{prefix}{name}".encode()
    return whole.decode() if len(whole) <= LONGEST_NAME else prefix + sha256(whole).hexdigest()[:32]


def _names(connection: BaseDatabaseWrapper, table: Table) -> dict[str, str]:
    quote = connection.ops.quote_name
    columns: list[Any] = [field.column for field in table.model._meta.pk_fields]

    def key(of: str) -> str:
        # The output function, as in lines: some types' casts to text write something else.
        return ", ".join(f"{_literal(each)}, format('%s', {of}.{quote(each)})" for each in columns)

    return {
        **_named(connection, table.name),
        "gone_key": key("gone"),
        "old_key": key("OLD"),
        "old": ", ".join(f"OLD.{quote(each)}" for each in columns),
        "new": ", ".join(f"NEW.{quote(each)}" for each in columns),
    }


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
