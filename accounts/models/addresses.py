"""Addresses that a mail is to go to and no account holds: rows that are gone when it was sent, or after a day."""

from django.conf import settings
from django.db import models

from hubqueue.ids import uuid7


class AddressRequest(models.Model):
    """Somebody forgot the password of an account with this address, if there is one.

    ``key`` is the keyed hash of the address: all that leaves this row.
    """

    key = models.CharField(primary_key=True, max_length=64)
    address = models.CharField(max_length=320)
    asked_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"address request {self.key[:8]}"


class AddressChange(models.Model):
    """The address that a person wants and has not confirmed."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    address = models.CharField(max_length=254)
    asked_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"address change {self.pk}"


class FormerAddress(models.Model):
    """The address that an account had until now: it is told so."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    address = models.CharField(max_length=254)
    left_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"former address {self.pk}"
