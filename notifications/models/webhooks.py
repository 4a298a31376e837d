"""Who is called when something happens, each call that is owed, and each attempt at one."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from hubqueue.ids import uuid7
from hubqueue.querysets import Now


class WebhookSubscriptionQuerySet(models.QuerySet["WebhookSubscription"]):
    def active(self) -> "WebhookSubscriptionQuerySet":
        return self.filter(state=WebhookSubscription.State.ACTIVE)

    def wanting(self, event_type: str, tenant: str | None) -> "WebhookSubscriptionQuerySet":
        """The active ones of this tenant (None = of none) that asked for this type of event."""
        return self.active().filter(tenant_id=tenant, event_types__contains=[event_type])


class WebhookSubscription(models.Model):
    """An endpoint of somebody else's, and the events it is told of.

    ``secret`` is sealed; until ``previous_until`` a message is signed with ``previous_secret`` too.
    ``dead_in_row`` counts messages given up since the last one that was delivered. ``last_seconds`` is how
    long the endpoint took lately. ``reason`` says why it is disabled. Moments are on the database's clock.
    """

    class State(models.TextChoices):
        ACTIVE = "active"
        DISABLED = "disabled"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    tenant_id = models.CharField("tenant", max_length=64, null=True, blank=True)  # noqa: DJ001 NULL = ours
    name = models.CharField(max_length=100)
    url = models.CharField("URL", max_length=2000)
    event_types = models.JSONField(default=list)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    secret = models.TextField(editable=False)
    previous_secret = models.TextField(editable=False, blank=True)
    previous_until = models.DateTimeField(null=True, blank=True, editable=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    reason = models.CharField(max_length=40, blank=True)
    dead_in_row = models.IntegerField(default=0)
    last_seconds = models.FloatField(default=0.0)
    created_at = models.DateTimeField(db_default=Now())
    rotated_at = models.DateTimeField(db_default=Now())
    disabled_at = models.DateTimeField(null=True, blank=True)

    objects = WebhookSubscriptionQuerySet.as_manager()

    class Meta:
        permissions = [
            ("rotate_webhooksubscription", "Can give a webhook subscription a new secret"),
            ("test_webhooksubscription", "Can send a test to a webhook subscription"),
            ("enable_webhooksubscription", "Can enable a webhook subscription"),
            ("disable_webhooksubscription", "Can disable a webhook subscription"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="active", disabled_at__isnull=True, reason="")
                | Q(state="disabled", disabled_at__isnull=False) & ~Q(reason=""),
                name="notifications_webhooksubscription_disabled",
            ),
            models.CheckConstraint(
                condition=Q(previous_secret="", previous_until__isnull=True)
                | ~Q(previous_secret="") & Q(previous_until__isnull=False),
                name="notifications_webhooksubscription_previous",
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant_id"],
                condition=Q(state="active"),
                name="notifications_webhook_active",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class WebhookMessage(models.Model):
    """One event that one subscription is told of. ``id`` is the webhook-id, and ``body`` what is sent.

    ``body`` is written once: every attempt and every replay sends the same bytes. ``attempts`` and
    ``refusals`` (answers that say the request is wrong) are those of this ``ladder``, which a replay begins anew.
    HELD is what a restore makes of PENDING.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        DEAD = "dead"
        HELD = "held", "On hold"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    subscription = models.ForeignKey(
        WebhookSubscription, on_delete=models.CASCADE, related_name="messages"
    )
    tenant_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 NULL = ours
    event_type = models.CharField(max_length=60)
    cause_id = models.CharField(max_length=150)
    body = models.BinaryField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    reason = models.CharField(max_length=40, blank=True)
    ladder = models.IntegerField(default=1)
    attempts = models.IntegerField(default=0)
    refusals = models.IntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions = [
            ("replay_webhookmessage", "Can send a dead webhook message again"),
            ("release_webhookmessage", "Can release a webhook message that a restore held"),
            ("drop_webhookmessage", "Can drop a webhook message that a restore held"),
            ("read_webhook_bodies", "Can read what was sent to an endpoint and what it answered"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["cause_id", "event_type", "subscription"],
                name="notifications_webhookmessage_once",
            ),
            models.CheckConstraint(
                condition=Q(state="pending", finished_at__isnull=True, reason="")
                | Q(state="delivered", finished_at__isnull=False, reason="")
                | Q(state="dead", finished_at__isnull=False) & ~Q(reason="")
                | Q(state="held", finished_at__isnull=True) & ~Q(reason=""),
                name="notifications_webhookmessage_finished_at",
            ),
        ]
        indexes = [
            models.Index(
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False),
                name="notifications_webhook_finished",
            ),
            models.Index(
                fields=["subscription", "next_attempt_at"],
                condition=Q(state="pending"),
                name="notifications_webhook_pending",
            ),
            models.Index(
                fields=["state", "-id"],
                condition=~Q(state="delivered"),
                name="notifications_webhook_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.pk}"


class WebhookDelivery(models.Model):
    """One attempt. Its row is committed before the request goes out, so a crash leaves a trace.

    ``outcome`` is empty while it is under way. ``code`` is the HTTP code that was answered. ``headers`` are
    the request's, without the signature; ``answer`` is the beginning of the answer's body, as text.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    message = models.ForeignKey(WebhookMessage, on_delete=models.CASCADE, related_name="deliveries")
    subscription = models.ForeignKey(
        WebhookSubscription, on_delete=models.CASCADE, related_name="deliveries"
    )
    ladder = models.IntegerField()
    attempt = models.IntegerField()
    outcome = models.CharField(max_length=40, blank=True)
    code = models.IntegerField(null=True, blank=True)
    headers = models.JSONField(default=dict)
    answer = models.TextField(blank=True)
    answer_cut = models.BooleanField(default=False)
    seconds = models.FloatField(null=True, blank=True)
    started_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "webhook deliveries"
        indexes = [
            models.Index(
                fields=["subscription", "started_at"],
                condition=Q(outcome=""),
                name="notifications_webhook_flights",
            ),
            models.Index(fields=["subscription", "-id"], name="notifications_webhook_last"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.attempt} of {self.message_id}"
