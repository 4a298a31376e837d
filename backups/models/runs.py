"""A run: one archive, from the request for it until it has expired."""

from typing import Any

from django.db import models
from django.db.models import Q

from backups.models.content import Content
from backups.models.schedules import BackupSchedule
from backups.models.targets import BackupTarget
from hubqueue.ids import uuid7
from hubqueue.querysets import Now


class BackupRun(models.Model):
    """One archive and the run that makes it; ``id`` is the archive's id.

    RUNNING from the request until its job ends for good, whatever attempts fail in between; ``code`` is that of the
    last failure. A target has one running run at most. ``started_at`` is the stamp in the archive's name ``archive``
    and what retention orders by. ``tenant`` None = the whole installation. ``parent`` is what an incremental
    continues; ``promoted`` is the code of why there is none, and the run full, though it was asked to be incremental.
    ``transactions`` is the snapshot (``pg_current_snapshot()``) that the archive's rows are of.
    ``verified_at`` and ``findings`` (codes; empty = sound) are of the last verification. ``share`` is from 0 to 1.
    ``rows``, ``media``, ``bytes`` (stored) and ``media_missing`` (files that rows name and that were not there to be
    taken) are known when it has succeeded. ``expiring_at`` is set before the
    first object of a SUCCEEDED archive is deleted: from then on it is no archive to restore, to continue or to
    count, and it becomes EXPIRED when the last object is gone. Moments are on the database's clock.
    """

    class State(models.TextChoices):
        RUNNING = "RUNNING", "running"
        SUCCEEDED = "SUCCEEDED", "succeeded"
        FAILED = "FAILED", "failed"
        CANCELLED = "CANCELLED", "cancelled"
        EXPIRED = "EXPIRED", "expired"

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule", "Schedule"
        MANUAL = "manual", "A person"
        PRE_RESTORE = "pre_restore", "Before a restore"
        API = "api", "Code"

    class Mode(models.TextChoices):
        FULL = "full", "Full"
        INCREMENTAL = "incremental", "Incremental"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    target = models.ForeignKey(BackupTarget, models.PROTECT, related_name="runs")
    schedule = models.ForeignKey(
        BackupSchedule, models.SET_NULL, null=True, blank=True, related_name="runs"
    )
    tenant = models.TextField(null=True, blank=True)  # noqa: DJ001 NULL = the whole installation
    content = models.CharField(max_length=10, choices=Content.choices, default=Content.ROWS)
    mode = models.CharField(max_length=12, choices=Mode.choices, default=Mode.FULL)
    parent = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="children"
    )
    promoted = models.CharField(max_length=60, blank=True)
    trigger = models.CharField(max_length=12, choices=Trigger.choices)
    asked_by = models.CharField(max_length=150, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    code = models.CharField(max_length=60, blank=True)
    job_id = models.UUIDField(null=True)
    archive = models.TextField(blank=True)
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    snapshot_at = models.DateTimeField(null=True)
    transactions = models.TextField(blank=True)
    share = models.FloatField(default=0)
    rows = models.BigIntegerField(null=True)
    media = models.BigIntegerField(null=True)
    media_missing = models.BigIntegerField(null=True)
    bytes = models.BigIntegerField(null=True)
    verified_at = models.DateTimeField(null=True)
    findings: Any = models.JSONField(default=list)
    pinned_until = models.DateTimeField(null=True, blank=True)
    expiring_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-started_at", "-id"]
        permissions = [
            ("start_backuprun", "Can start a backup"),
            ("cancel_backuprun", "Can cancel a backup"),
            ("verify_backuprun", "Can verify an archive"),
            ("restore_backuprun", "Can restore an archive"),
            ("pin_backuprun", "Can pin an archive"),
            ("remove_backuprun", "Can delete an archive that is not sound"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["target"],
                condition=Q(state="RUNNING"),
                name="backups_backuprun_one_running_per_target",
            ),
            models.CheckConstraint(
                condition=Q(state="RUNNING", finished_at__isnull=True)
                | ~Q(state="RUNNING") & Q(finished_at__isnull=False),
                name="backups_backuprun_ended_has_a_moment",
            ),
            models.CheckConstraint(
                condition=Q(mode="full", parent__isnull=True)
                | Q(mode="incremental", parent__isnull=False),
                name="backups_backuprun_incremental_has_a_parent",
            ),
        ]
        indexes = [
            models.Index(fields=["target", "-started_at"], name="backups_run_at_target"),
            models.Index(fields=["schedule", "-started_at"], name="backups_run_of_schedule"),
        ]

    def __str__(self) -> str:
        return self.archive or str(self.id)

    @property
    def asked_mode(self) -> str:
        """What was asked for; ``mode`` is what is made."""
        return self.Mode.INCREMENTAL if self.promoted else self.mode
