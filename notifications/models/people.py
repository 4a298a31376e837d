"""What a person chose about how they are written to."""

from django.conf import settings
from django.db import models

from notifications.models.records import Channel


class Reader(models.Model):
    """The language a person is written to in. No row = the installation's own."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="reader"
    )
    language = models.CharField(max_length=16, blank=True)

    def __str__(self) -> str:
        return f"reader {self.pk}"


class Preference(models.Model):
    """A category that a person switched off for a channel. No row = it is on."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="switched_off"
    )
    category = models.CharField(max_length=60)
    channel = models.CharField(max_length=8, choices=Channel.choices, default=Channel.MAIL)
    since = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "category", "channel"], name="notifications_preference_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.category} off"
