"""Where archives go, as people configured it."""

from typing import Any

from django.db import models
from django.db.models import Q

from hubqueue.ids import uuid7
from hubqueue.querysets import Now


class BackupTargets(models.Manager["BackupTarget"]):
    """Targets without their credentials."""

    def get_queryset(self) -> Any:
        return super().get_queryset().defer("credential")


class BackupTarget(models.Model):
    """A place that archives are kept at.

    ``config`` is flat; ``backups.targets.config`` says what each kind takes. ``credential`` is sealed for
    this row and this kind; only ``backups.targets.credential`` reads it. ``plain_by`` and ``plain_at`` are
    who accepted that archives are not encrypted, and when. ``tested_code`` is ``ok`` or the code of the
    error that the last test met; empty = never tested. ``held``: it is not enabled because this database is a copy of
    one where it was, and nobody has enabled it here. Moments are on the database's clock.
    """

    class Kind(models.TextChoices):
        LOCAL = "local", "Local directory"
        S3 = "s3", "S3"
        SFTP = "sftp", "SFTP"
        WEBDAV = "webdav", "WebDAV"

    class Encryption(models.TextChoices):
        CLIENT = "client", "Encrypted before it is sent"
        NONE = "none", "Not encrypted"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    config = models.JSONField(default=dict, blank=True)
    credential = models.BinaryField(null=True, editable=False)
    encryption = models.CharField(
        max_length=10, choices=Encryption.choices, default=Encryption.CLIENT
    )
    plain_by = models.CharField(max_length=150, blank=True, editable=False)
    plain_at = models.DateTimeField(null=True, editable=False)
    enabled = models.BooleanField(default=True)
    held = models.BooleanField(default=False, db_default=False, editable=False)
    tested_at = models.DateTimeField(null=True, editable=False)
    tested_code = models.CharField(max_length=60, blank=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = BackupTargets()

    class Meta:
        base_manager_name = "objects"
        default_manager_name = "objects"
        permissions = [("test_backuptarget", "Can test a backup target")]
        constraints = [
            models.CheckConstraint(
                condition=Q(encryption="client", plain_by="", plain_at__isnull=True)
                | Q(encryption="none", plain_at__isnull=False) & ~Q(plain_by=""),
                name="backups_backuptarget_plain_is_accepted",
            ),
        ]

    def __str__(self) -> str:
        return self.name
