"""What was deleted, and the functions of the triggers that remember changes."""

from django.db import migrations, models

FUNCTIONS = """
ALTER TABLE backups_tombstone ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX backups_tombstone_of_table ON backups_tombstone ("table", xid);

CREATE FUNCTION backups_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.backups_xid := pg_current_xact_id();
    RETURN NEW;
END $$;

CREATE FUNCTION backups_mark_whole() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO backups_tombstone ("table", key) VALUES (TG_TABLE_NAME, NULL);
    RETURN NULL;
END $$;
"""

# With what was made for each table that is tracked, so that no table needs this application any more.
DROP = """
DO $$ DECLARE found record; BEGIN
    FOR found IN
        SELECT tgname AS name, tgrelid::regclass AS "table" FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE tgname IN ('backups_changed', 'backups_deleted', 'backups_renamed', 'backups_truncated')
            AND pg_table_is_visible(pg_class.oid)
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', found.name, found."table");
    END LOOP;
    FOR found IN
        SELECT pg_class.oid::regclass AS "table" FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE attname = 'backups_xid' AND NOT attisdropped AND relkind IN ('r', 'p')
            AND pg_table_is_visible(pg_class.oid)
    LOOP
        EXECUTE format('ALTER TABLE %s DROP COLUMN backups_xid', found."table");
    END LOOP;
    FOR found IN
        SELECT oid::regprocedure AS name FROM pg_proc
        WHERE prorettype = 'trigger'::regtype AND pg_function_is_visible(oid)
            AND (starts_with(proname, 'backups_deleted_') OR starts_with(proname, 'backups_renamed_'))
    LOOP
        EXECUTE format('DROP FUNCTION %s', found.name);
    END LOOP;
END $$;
DROP FUNCTION backups_mark_whole();
DROP FUNCTION backups_stamp();
"""


class Migration(migrations.Migration):
    dependencies = [("backups", "0005_expiring")]

    operations = [
        migrations.CreateModel(
            name="Tombstone",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("table", models.TextField()),
                ("key", models.TextField(null=True)),
            ],
        ),
        migrations.RunSQL(FUNCTIONS, DROP),
    ]
