"""The record of one message to one person. It holds no content: text is rendered when it is sent."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from hubqueue.ids import uuid7


class Channel(models.TextChoices):
    MAIL = "mail"


class NotificationQuerySet(models.QuerySet["Notification"]):
    def undelivered(self) -> "NotificationQuerySet":
        """What delivery may still act on. What is held is not: nothing sends it until an officer releases it."""
        return self.filter(state__in=[Notification.State.PENDING, Notification.State.UNCERTAIN])

    def held(self) -> "NotificationQuerySet":
        return self.filter(state=Notification.State.HELD)

    def finished(self) -> "NotificationQuerySet":
        return self.filter(finished_at__isnull=False)


class Notification(models.Model):
    """That a person is to be told of something, and what became of it.

    ``cause_id`` names the change that caused it: one cause is recorded once per recipient and channel.
    ``subject_type`` and ``subject_id`` name what it is about (an app label with a model, and a key), or
    are empty. ``sending_since`` is set before the message's data goes out: whoever finds it set cannot know
    whether the message got through. ``uncertain_since`` stays once that was so: it may have arrived twice.
    HELD is what a restore makes of PENDING.
    All moments are on the database's clock.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        SENT = "sent"
        SUPPRESSED = "suppressed"
        UNCERTAIN = "uncertain"
        FAILED = "failed"
        HELD = "held", "On hold"

    FINISHED = frozenset({State.SENT, State.SUPPRESSED, State.FAILED})

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 NULL = ours
    recipient = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications"
    )
    category = models.CharField(max_length=60)
    channel = models.CharField(max_length=8, choices=Channel.choices, default=Channel.MAIL)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=40, blank=True)
    cause_id = models.CharField(max_length=150)
    subject_type = models.CharField(max_length=100, blank=True)
    subject_id = models.CharField(max_length=64, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    attempts = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    sending_since = models.DateTimeField(null=True, blank=True)
    uncertain_since = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        permissions = [
            ("resend_notification", "Can send a failed or uncertain notification again"),
            ("release_notification", "Can release a notification that a restore held"),
            ("drop_notification", "Can drop a notification that a restore held"),
            ("preview_template", "Can preview templates and send a test to themselves"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant_id", "cause_id", "recipient", "channel"],
                nulls_distinct=False,
                name="notifications_notification_once",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["sent", "suppressed", "failed"], finished_at__isnull=False)
                | Q(state__in=["pending", "uncertain", "held"], finished_at__isnull=True),
                name="notifications_notification_finished_at",
            ),
            models.CheckConstraint(
                condition=~Q(state="uncertain") | Q(uncertain_since__isnull=False),
                name="notifications_notification_uncertain_since",
            ),
        ]
        indexes = [
            models.Index(
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False),
                name="notifications_finished",
            ),
            models.Index(
                fields=["state", "id"],
                condition=~Q(state="sent"),
                name="notifications_exceptions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.category} {self.pk}"
