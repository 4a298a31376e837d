"""Who may delete an archive that is not sound."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("backups", "0013_new_tenant")]

    operations = [
        migrations.AlterModelOptions(
            name="backuprun",
            options={
                "ordering": ["-started_at", "-id"],
                "permissions": [
                    ("start_backuprun", "Can start a backup"),
                    ("cancel_backuprun", "Can cancel a backup"),
                    ("verify_backuprun", "Can verify an archive"),
                    ("restore_backuprun", "Can restore an archive"),
                    ("pin_backuprun", "Can pin an archive"),
                    ("remove_backuprun", "Can delete an archive that is not sound"),
                ],
            },
        ),
    ]
