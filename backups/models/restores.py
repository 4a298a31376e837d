"""A restore of one tenant's rows: from the request for it until it has ended."""

from typing import Any

from django.db import models
from django.db.models import Q

from backups.models.runs import BackupRun
from hubqueue.ids import uuid7
from hubqueue.querysets import Now


class BackupRestore(models.Model):
    """An archive and what is to become of its rows.

    RUNNING until its job ends for good; ``code`` is that of the last failure. ``tenant`` is whose rows are written:
    with NEW_TENANT another than the archive's; None = INSPECT of an archive of the whole installation. A tenant has
    one running restore that writes at most.

    ``phase`` is what it is at. ``label`` and ``line``: within KEYS, LOAD and LINK, so many lines of that model's are
    done and those of the models before it; written in the transaction of the rows. Within FILES ``line`` files are
    done. ``cleared``: no row of the tenant's is left of those that were there, written in the clear's last
    transaction; of NEW_TENANT, that what it wrote is gone after it was broken off. From the phase CLEAR on rows may be
    gone: ``safety`` is the archive of them, made after ``requested_at``. ``paused``: this restore has paused the
    tenant. ``report`` is what INSPECT found. ``share`` is from 0 to 1. Moments are on the database's clock.
    """

    class State(models.TextChoices):
        RUNNING = "RUNNING", "running"
        SUCCEEDED = "SUCCEEDED", "succeeded"
        FAILED = "FAILED", "failed"
        CANCELLED = "CANCELLED", "cancelled"

    class Mode(models.TextChoices):
        INSPECT = "inspect", "Look, write nothing"
        MERGE = "merge", "Add to what is there"
        REPLACE = "replace", "Replace what is there"
        NEW_TENANT = "new_tenant", "Write it as a new tenant"

    class IfThere(models.TextChoices):
        """What MERGE does with a row that is there already."""

        SKIP = "skip", "Leave it as it is"
        OVERWRITE = "overwrite", "Overwrite it"

    class Phase(models.TextChoices):
        CHECK = "check", "Checking the archive"
        FILES = "files", "Writing files"
        COPY = "copy", "Making a copy of what is there"
        PARK = "park", "Waiting for the tenant's jobs to stop"
        CLEAR = "clear", "Taking away what is there"
        KEYS = "keys", "Giving new keys"
        LOAD = "load", "Writing rows"
        LINK = "link", "Setting references"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    run = models.ForeignKey(BackupRun, models.PROTECT, related_name="restores")
    mode = models.CharField(max_length=10, choices=Mode.choices)
    if_there = models.CharField(max_length=10, choices=IfThere.choices, blank=True)
    tenant = models.TextField(null=True, blank=True)  # noqa: DJ001 NULL = the whole installation
    asked_by = models.CharField(max_length=150, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.CHECK)
    code = models.CharField(max_length=60, blank=True)
    job_id = models.UUIDField(null=True)
    safety = models.ForeignKey(
        BackupRun, models.PROTECT, null=True, blank=True, related_name="saved_before"
    )
    paused = models.BooleanField(default=False)
    cleared = models.BooleanField(default=False)
    label = models.CharField(max_length=200, blank=True)
    line = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    share = models.FloatField(default=0)
    report: Any = models.JSONField(default=dict)
    requested_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-requested_at", "-id"]
        permissions = [("cancel_backuprestore", "Can cancel a restore")]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant"],
                condition=Q(state="RUNNING") & ~Q(mode="inspect"),
                name="backups_backuprestore_one_writes_per_tenant",
            ),
            models.CheckConstraint(
                condition=Q(mode="inspect") | Q(tenant__isnull=False),
                name="backups_backuprestore_writes_a_tenant",
            ),
            models.CheckConstraint(
                condition=Q(mode="merge") & ~Q(if_there="") | ~Q(mode="merge") & Q(if_there=""),
                name="backups_backuprestore_merge_says_how",
            ),
            models.CheckConstraint(
                condition=Q(state="RUNNING", finished_at__isnull=True)
                | ~Q(state="RUNNING") & Q(finished_at__isnull=False),
                name="backups_backuprestore_ended_has_a_moment",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.mode} {self.tenant or 'everything'} from {self.run_id}"


class RestoreKey(models.Model):
    """A row that a restore is to take away or wrote, by its key: a JSON list of texts.

    Kept for the models whose rows are found through rows that refer to them: those go first, and come last. What a
    restore that was broken off wrote of them is told to the next one of the tenant.
    """

    restore = models.ForeignKey(BackupRestore, models.CASCADE, related_name="keys")
    label = models.CharField(max_length=200)
    key = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["restore", "label", "key"], name="backups_restorekey_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.label} {self.key}"


class NewKey(models.Model):
    """The key that a row of the archive gets in a new tenant, both as PostgreSQL's text.

    It goes when the restore has succeeded, or when what it wrote is taken away.
    """

    restore = models.ForeignKey(BackupRestore, models.CASCADE, related_name="new_keys")
    label = models.CharField(max_length=200)
    old = models.TextField()
    new = models.TextField()

    class Meta:
        constraints = [
            # By the key first: texts name rows without their model.
            models.UniqueConstraint(fields=["restore", "old", "label"], name="backups_newkey_once")
        ]

    def __str__(self) -> str:
        return f"{self.label} {self.old}"
