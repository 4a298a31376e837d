"""Restores as a new tenant, and the keys that rows get there."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("backups", "0012_files")]

    operations = [
        migrations.AlterField(
            model_name="backuprestore",
            name="mode",
            field=models.CharField(choices=[("inspect", "Look, write nothing"), ("merge", "Add to what is there"), ("replace", "Replace what is there"), ("new_tenant", "Write it as a new tenant")], max_length=10),
        ),
        migrations.AlterField(
            model_name="backuprestore",
            name="phase",
            field=models.CharField(choices=[("check", "Checking the archive"), ("files", "Writing files"), ("copy", "Making a copy of what is there"), ("park", "Waiting for the tenant's jobs to stop"), ("clear", "Taking away what is there"), ("keys", "Giving new keys"), ("load", "Writing rows"), ("link", "Setting references")], default="check", max_length=10),
        ),
        migrations.CreateModel(
            name="NewKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label", models.CharField(max_length=200)),
                ("old", models.TextField()),
                ("new", models.TextField()),
                ("restore", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="new_keys", to="backups.backuprestore")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("restore", "old", "label"), name="backups_newkey_once")],
            },
        ),
    ]
