"""The migration operation that gives a model's table its change triggers."""

from typing import Any

from django.db.migrations.operations.base import Operation

COLUMN = "backups_xid"

# Of constant text, so that the table is not rewritten: rows that were there count as changed by the migration.
ADD_COLUMN = """
DO $$ BEGIN
    EXECUTE format('ALTER TABLE {table} ADD COLUMN backups_xid xid8 NOT NULL DEFAULT %L', pg_current_xact_id());
END $$;
CREATE TRIGGER backups_changed BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION backups_stamp();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER backups_changed;
"""

# The text of a key must not depend on the session that deletes.
TOMBSTONES = """
CREATE FUNCTION {deleted}() RETURNS trigger LANGUAGE plpgsql
SET DateStyle = 'ISO, YMD' SET IntervalStyle = 'postgres' SET TimeZone = 'UTC'
SET extra_float_digits = 3 SET bytea_output = 'hex' AS $$
BEGIN
    INSERT INTO backups_tombstone ("table", key)
    SELECT TG_TABLE_NAME, json_build_object({gone_key})::text FROM gone;
    RETURN NULL;
END $$;
CREATE FUNCTION {renamed}() RETURNS trigger LANGUAGE plpgsql
SET DateStyle = 'ISO, YMD' SET IntervalStyle = 'postgres' SET TimeZone = 'UTC'
SET extra_float_digits = 3 SET bytea_output = 'hex' AS $$
BEGIN
    INSERT INTO backups_tombstone ("table", key)
    VALUES (TG_TABLE_NAME, json_build_object({old_key})::text);
    RETURN NULL;
END $$;
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
DROP TRIGGER backups_truncated ON {table};
DROP TRIGGER backups_renamed ON {table};
DROP TRIGGER backups_deleted ON {table};
DROP FUNCTION {renamed}();
DROP FUNCTION {deleted}();
DELETE FROM backups_tombstone WHERE "table" = {literal};
"""

DROP_COLUMN = """
DROP TRIGGER backups_changed ON {table};
ALTER TABLE {table} DROP COLUMN backups_xid;
"""


class TrackChanges(Operation):
    """Remember what changes in the table of ``model`` (``app.Model``), so that it may be declared ``incremental``.

    The column ``backups_xid``, which the ORM does not know, gets the changing transaction; deletions and changes of
    a key leave tombstones, TRUNCATE a mark. ``changed_in`` names a column that a trigger of the application fills with
    the transaction already: no other is made then. Reversible. The migration depends on ("backups", "0007_tombstones").
    """

    reversible = True

    def __init__(self, model: str, changed_in: str = COLUMN) -> None:
        self.model, self.changed_in = model, changed_in

    def state_forwards(self, app_label: str, state: Any) -> None:
        """No model changes."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        install(schema_editor, to_state.apps.get_model(self.model), self.changed_in)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        names = _names(schema_editor, to_state.apps.get_model(self.model))
        schema_editor.execute(DROP.format(**names), params=None)
        if self.changed_in == COLUMN:
            schema_editor.execute(DROP_COLUMN.format(**names), params=None)

    def describe(self) -> str:
        return f"Remember what changes in {self.model}, for incremental archives"


def install(schema_editor: Any, model: Any, changed_in: str = COLUMN) -> None:
    """The column and the triggers, within the transaction of the schema editor."""
    names = _names(schema_editor, model)
    if changed_in == COLUMN:
        schema_editor.execute(ADD_COLUMN.format(**names), params=None)
    schema_editor.execute(TOMBSTONES.format(**names), params=None)


def _names(schema_editor: Any, model: Any) -> dict[str, str]:
    quote = schema_editor.quote_name
    meta = model._meta
    columns = [field.column for field in getattr(meta, "pk_fields", [meta.pk])]

    def literal(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def key(of: str) -> str:
        # The output function, as in lines: some types' casts to text write something else.
        return ", ".join(f"{literal(each)}, format('%s', {of}.{quote(each)})" for each in columns)

    return {
        "table": quote(meta.db_table),
        "literal": literal(meta.db_table),
        "deleted": quote(f"backups_deleted_{meta.db_table}"[:63]),
        "renamed": quote(f"backups_renamed_{meta.db_table}"[:63]),
        "gone_key": key("gone"),
        "old_key": key("OLD"),
        "old": ", ".join(f"OLD.{quote(each)}" for each in columns),
        "new": ", ".join(f"NEW.{quote(each)}" for each in columns),
    }
