"""What a person is told about the ways into their account."""

from django.conf import settings
from django.db import models

from hubqueue.ids import uuid7


class WayIn(models.TextChoices):
    PASSWORD = "password", "a new password was set"
    ADDRESS = "address", "the address was changed"
    CONNECTED = "connected", "another way to log in was connected"
    REMOVED = "removed", "a way to log in was removed"


class WayInChange(models.Model):
    """That a way into an account changed. ``provider`` is the name of the one that came or went, if it was one."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    what = models.CharField(max_length=10, choices=WayIn.choices)
    provider = models.CharField(max_length=60, blank=True)
    at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.what} {self.pk}"
