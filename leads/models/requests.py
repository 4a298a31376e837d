"""The queue of events whose leads are to be generated, and the triggers that fill it."""

from datetime import timedelta

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from hubqueue.ids import uuid7
from hubqueue.querysets import Now
from leads.models.events import Event

LEASE = timedelta(minutes=15)


class LeadArm(models.Model):
    """One trigger of one event. Only ever inserted, and deleted by the claim that serves it.

    Every registration inserts one, so no constraint looks at the event once more: an arm whose event is
    gone is swept by the pass.
    """

    class Trigger(models.TextChoices):
        CREATED = "created"
        CONFIRMED = "confirmed"
        DONE = "done"
        RULE = "rule"
        ANSWER = "answer"
        REARM = "rearm"

    event = models.ForeignKey(
        Event, on_delete=models.CASCADE, related_name="arms", db_constraint=False
    )
    trigger = models.CharField(max_length=9, choices=Trigger.choices)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.trigger} of {self.event_id}"


class LeadRequestQuerySet(models.QuerySet["LeadRequest"]):
    def armed(self) -> "LeadRequestQuerySet":
        """Those with a trigger that no claim has served yet."""
        return self.filter(Exists(_arms()))

    def open(self) -> "LeadRequestQuerySet":
        """What is still to be walked: not done, or done with a trigger that landed since."""
        return self.filter(Q(done=False) | Exists(_arms()))

    def parked(self) -> "LeadRequestQuerySet":
        return self.filter(parked_at__isnull=False)

    def failed(self) -> "LeadRequestQuerySet":
        """Those whose last walk was stopped by a failure."""
        return self.exclude(error_detail="")

    def leased(self) -> "LeadRequestQuerySet":
        """Those under a lease that has not expired."""
        return self.filter(claimed_at__gt=Now() - LEASE)


def _arms() -> "models.QuerySet[LeadArm]":
    return LeadArm.objects.filter(event_id=OuterRef("event_id"))


class LeadRequest(models.Model):
    """One event's place in the queue; there is one row per event, open until ``done``.

    ``lease_token`` is the fence: every write of a walk matches it. ``claimed_at`` is the stamp of the
    lease, renewed with each page. ``error_detail`` is "code: reason" of the failure that stopped the
    last walk; ``failing_since`` is when the first of those in a row did, or when an officer released it
    since. ``parked_at`` is an officer's; it takes the row out of the claim until released.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    event = models.OneToOneField(Event, on_delete=models.CASCADE, related_name="lead_request")
    done = models.BooleanField(default=False)
    error_detail = models.CharField(max_length=300, blank=True, db_default="")
    claimed_at = models.DateTimeField(null=True, blank=True)
    claimed_by = models.CharField(max_length=200, blank=True, db_default="")
    lease_token = models.UUIDField(null=True, blank=True)
    attempted_at = models.DateTimeField(null=True, blank=True)
    failures = models.IntegerField(default=0, db_default=0)
    failing_since = models.DateTimeField(null=True, blank=True)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    parked_at = models.DateTimeField(null=True, blank=True)
    park_reason = models.CharField(max_length=200, blank=True, db_default="")
    progress = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="How far the last walk came."
    )
    created_at = models.DateTimeField(db_default=Now())
    created_by = models.CharField(max_length=150, blank=True, db_default="")
    updated_at = models.DateTimeField(db_default=Now())
    updated_by = models.CharField(max_length=150, blank=True, db_default="")

    objects = LeadRequestQuerySet.as_manager()

    class Meta:
        permissions = [
            ("run_leadrequest", "Can run the lead generation of an event now"),
            ("park_leadrequest", "Can park a lead request"),
            ("release_leadrequest", "Can release a parked lead request"),
            ("rearm_leadrequest", "Can arm a lead request again"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(lease_token__isnull=True, claimed_at__isnull=True)
                | Q(lease_token__isnull=False, claimed_at__isnull=False),
                name="leads_leadrequest_lease",
            ),
            models.CheckConstraint(condition=Q(failures__gte=0), name="leads_leadrequest_failures"),
        ]
        indexes = [
            # The claim domain, least recently attempted first.
            models.Index(
                F("attempted_at").asc(nulls_first=True),
                "created_at",
                "id",
                condition=Q(done=False),
                name="leads_leadrequest_open",
            ),
        ]

    def __str__(self) -> str:
        return f"lead request of {self.event}"
