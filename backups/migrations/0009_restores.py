"""Restores of one tenant's rows."""

import django.db.models.deletion
from django.db import migrations, models

import hubqueue.ids
import hubqueue.querysets


class Migration(migrations.Migration):
    dependencies = [
        ("backups", "0008_promoted"),
        ("hubqueue", "0001_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="BackupRestore",
            fields=[
                ("id", models.UUIDField(default=hubqueue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("mode", models.CharField(choices=[("inspect", "Look, write nothing"), ("merge", "Add to what is there"), ("replace", "Replace what is there")], max_length=10)),
                ("if_there", models.CharField(blank=True, choices=[("skip", "Leave it as it is"), ("overwrite", "Overwrite it")], max_length=10)),
                ("tenant", models.TextField(blank=True, null=True)),
                ("asked_by", models.CharField(blank=True, max_length=150)),
                ("state", models.CharField(choices=[("RUNNING", "running"), ("SUCCEEDED", "succeeded"), ("FAILED", "failed"), ("CANCELLED", "cancelled")], default="RUNNING", max_length=10)),
                ("phase", models.CharField(choices=[("check", "Checking the archive"), ("copy", "Making a copy of what is there"), ("park", "Waiting for the tenant's jobs to stop"), ("clear", "Taking away what is there"), ("load", "Writing rows"), ("link", "Setting references")], default="check", max_length=10)),
                ("code", models.CharField(blank=True, max_length=60)),
                ("job_id", models.UUIDField(null=True)),
                ("paused", models.BooleanField(default=False)),
                ("cleared", models.BooleanField(default=False)),
                ("label", models.CharField(blank=True, max_length=200)),
                ("line", models.BigIntegerField(default=0)),
                ("rows", models.BigIntegerField(default=0)),
                ("share", models.FloatField(default=0)),
                ("report", models.JSONField(default=dict)),
                ("requested_at", models.DateTimeField(db_default=hubqueue.querysets.Now())),
                ("finished_at", models.DateTimeField(null=True)),
                ("run", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="restores", to="backups.backuprun")),
                ("safety", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="saved_before", to="backups.backuprun")),
            ],
            options={
                "ordering": ["-requested_at", "-id"],
                "permissions": [("cancel_backuprestore", "Can cancel a restore")],
                "constraints": [
                    models.UniqueConstraint(condition=models.Q(("state", "RUNNING"), models.Q(("mode", "inspect"), _negated=True)), fields=("tenant",), name="backups_backuprestore_one_writes_per_tenant"),
                    models.CheckConstraint(condition=models.Q(("mode", "inspect"), ("tenant__isnull", False), _connector="OR"), name="backups_backuprestore_writes_a_tenant"),
                    models.CheckConstraint(condition=models.Q(models.Q(("mode", "merge"), models.Q(("if_there", ""), _negated=True)), models.Q(models.Q(("mode", "merge"), _negated=True), ("if_there", "")), _connector="OR"), name="backups_backuprestore_merge_says_how"),
                    models.CheckConstraint(condition=models.Q(models.Q(("finished_at__isnull", True), ("state", "RUNNING")), models.Q(models.Q(("state", "RUNNING"), _negated=True), ("finished_at__isnull", False)), _connector="OR"), name="backups_backuprestore_ended_has_a_moment"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RestoreKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label", models.CharField(max_length=200)),
                ("key", models.TextField()),
                ("restore", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="keys", to="backups.backuprestore")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("restore", "label", "key"), name="backups_restorekey_once")],
            },
        ),
    ]
