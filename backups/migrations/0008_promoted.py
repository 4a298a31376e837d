"""Why a run that was asked to be incremental is full."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backups", "0007_tombstones")]

    operations = [
        migrations.AddField(
            model_name="backuprun",
            name="promoted",
            field=models.CharField(blank=True, max_length=60),
        ),
    ]
