"""The files that rows name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backups", "0011_search_path")]

    operations = [
        migrations.AddField(
            model_name="backuprun",
            name="media_missing",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name="backuprestore",
            name="phase",
            field=models.CharField(
                choices=[
                    ("check", "Checking the archive"),
                    ("files", "Writing files"),
                    ("copy", "Making a copy of what is there"),
                    ("park", "Waiting for the tenant's jobs to stop"),
                    ("clear", "Taking away what is there"),
                    ("load", "Writing rows"),
                    ("link", "Setting references"),
                ],
                default="check",
                max_length=10,
            ),
        ),
    ]
