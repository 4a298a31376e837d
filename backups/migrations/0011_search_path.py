"""A TRUNCATE is marked whatever tables the session that does it finds by itself."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("backups", "0010_held")]

    operations = [
        migrations.RunSQL(
            "ALTER FUNCTION backups_mark_whole() SET search_path FROM CURRENT",
            "ALTER FUNCTION backups_mark_whole() RESET search_path",
        ),
    ]
