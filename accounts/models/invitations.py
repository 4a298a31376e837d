"""Who was invited by whom."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Not accepted yet, and the account is not closed."""
        return self.filter(accepted_at__isnull=True, person__is_active=True)


class Invitation(models.Model):
    """An account that an officer made for somebody who has not set a password yet, or has by now.

    ``sent`` counts the mails: each of them is a notification of its own.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitation"
    )
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    invited_at = models.DateTimeField()
    sent = models.PositiveIntegerField(default=1)
    sent_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        permissions = [("invite_person", "Can invite a person, and send an invitation again")]
        indexes = [
            models.Index(
                fields=["-id"],
                condition=Q(accepted_at__isnull=True),
                name="accounts_invitation_open",
            )
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"
