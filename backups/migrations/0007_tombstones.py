"""What was deleted, and the functions of the triggers that remember changes."""

from django.db import migrations, models

# The text of a key must not depend on the session that deletes.
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

DROP = """
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
