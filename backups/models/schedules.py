"""When archives are made, of what, and how long they stay, as people configured it."""

from typing import Any

from django.db import models
from django.db.models import Q

from backups.models.content import Content
from backups.models.targets import BackupTarget
from hubqueue.ids import uuid7
from hubqueue.querysets import Now


class Notify(models.TextChoices):
    """Of which ends of a run people are told."""

    FAILURE = "failure", "A run failed"
    SUCCESS = "success", "A run worked"
    RECOVERY = "first_success_after_failure", "The first that works after one failed"


def on_failure() -> list[str]:
    """What a new schedule tells."""
    return [Notify.FAILURE.value]


class BackupSchedule(models.Model):
    """A rule by which runs start by themselves.

    ``tenant``: whose rows; None = the whole installation. ``rule`` is a cron of five fields or an RFC 5545 RRULE,
    read in ``zone`` (an IANA name) and anchored at ``created_at``; ``full_rule`` selects which of its occurrences
    are full, empty = every one. ``notify_on`` lists values of ``Notify``. ``next_run_at`` is the next moment owed,
    None = nothing is; ``unreadable`` says
    that a rule cannot be read any more. ``keep_*`` and ``min_keep`` are the plan of retention. ``held``: it is not
    enabled because this database is a copy of one where it was, and nobody has enabled it here. Moments are on the
    database's clock.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100, unique=True)
    target = models.ForeignKey(BackupTarget, models.PROTECT, related_name="schedules")
    tenant = models.TextField(null=True, blank=True)  # noqa: DJ001 NULL = the whole installation
    content = models.CharField(max_length=10, choices=Content.choices, default=Content.ROWS)
    rule = models.TextField()
    full_rule = models.TextField(blank=True)
    zone = models.CharField(max_length=64, default="UTC")
    enabled = models.BooleanField(default=True)
    held = models.BooleanField(default=False, db_default=False, editable=False)
    keep_last = models.PositiveIntegerField(default=7)
    keep_daily = models.PositiveIntegerField(default=14)
    keep_weekly = models.PositiveIntegerField(default=8)
    keep_monthly = models.PositiveIntegerField(default=12)
    keep_yearly = models.PositiveIntegerField(default=3)
    min_keep = models.PositiveIntegerField(default=3)
    notify_on: Any = models.JSONField(default=on_failure, blank=True)
    next_run_at = models.DateTimeField(null=True, editable=False)
    unreadable = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(min_keep__gte=1), name="backups_backupschedule_floor_is_at_least_one"
            ),
            models.CheckConstraint(
                condition=~Q(content="system") | Q(tenant__isnull=True),
                name="backups_backupschedule_system_is_whole",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "next_run_at"],
                condition=Q(next_run_at__isnull=False),
                name="backups_schedule_owed",
            )
        ]

    def __str__(self) -> str:
        return self.name
