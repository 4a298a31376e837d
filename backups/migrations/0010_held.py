"""What a restore of the whole system disabled, until an officer enables it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backups", "0009_restores")]

    operations = [
        migrations.AddField(
            model_name=name,
            name="held",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        )
        for name in ("backuptarget", "backupschedule")
    ]
