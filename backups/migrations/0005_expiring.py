"""When an archive began to be deleted."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backups", "0002_runs")]

    operations = [
        migrations.AddField(
            model_name="backuprun",
            name="expiring_at",
            field=models.DateTimeField(null=True, editable=False),
        ),
    ]
