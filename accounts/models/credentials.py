"""What a mailed link opens."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from hubqueue.ids import uuid7


class Credential(models.Model):
    """One mailed link: for whom, for what, until when. The token itself is nowhere but in the mail.

    ``digest`` is its keyed hash. ``stamp`` is one of the account as it was when the link was minted: with another
    password or address the link is dead. ``address`` is the one that an ADDRESS link confirms.
    """

    class Purpose(models.TextChoices):
        RESET = "reset"
        INVITATION = "invitation"
        ADDRESS = "address"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="credentials"
    )
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    digest = models.CharField(max_length=64, unique=True)
    stamp = models.CharField(max_length=64)
    address = models.CharField(max_length=254, blank=True)
    minted_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    spent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "purpose"],
                condition=Q(spent_at__isnull=True),
                name="accounts_credential_newest",
            )
        ]

    def __str__(self) -> str:
        return f"{self.purpose} link {self.pk}"
