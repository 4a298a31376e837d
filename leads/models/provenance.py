"""Which lead came of which rule and group, and the leads of the database sink."""

from django.db import models
from django.db.models import Q

from hubqueue.ids import uuid7
from hubqueue.querysets import Now
from leads.models.events import Event, Registration
from leads.models.rules import Grouping, LeadRule


class LeadProvenance(models.Model):
    """One group of one rule, and its lead once the sink has made it. History: nothing takes it back.

    ``members`` counts the membership rows, so that a page of a large group need not count them;
    ``growths`` counts how often the lead was told of new ones.
    """

    rule = models.ForeignKey(
        LeadRule, on_delete=models.PROTECT, related_name="provenances", db_index=False
    )
    grouping = models.CharField(max_length=13, choices=Grouping.choices)
    group_key = models.CharField(max_length=200)
    lead_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 NULL = none yet
    members = models.IntegerField(default=0, db_default=0)
    growths = models.IntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        permissions = [("relink_lead", "Can move provenance to another lead")]
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "group_key"], name="leads_leadprovenance_group"
            ),
            models.CheckConstraint(
                condition=Q(grouping__in=sorted(Grouping.values)),
                name="leads_leadprovenance_grouping",
            ),
        ]
        indexes = [models.Index(fields=["lead_id"], name="leads_leadprovenance_lead")]

    def __str__(self) -> str:
        return self.group_key


class LeadProvenanceRegistration(models.Model):
    """A registration is a member of a group.

    The rule stands here too: a registration belongs to one group of a rule, and the walk finds by one
    index probe whether it was taken.
    """

    provenance = models.ForeignKey(
        LeadProvenance, on_delete=models.CASCADE, related_name="registrations", db_index=False
    )
    registration = models.ForeignKey(
        Registration, on_delete=models.CASCADE, related_name="provenances", db_index=False
    )
    rule = models.ForeignKey(
        LeadRule, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provenance", "registration"], name="leads_membership_once"
            ),
            models.UniqueConstraint(
                fields=["registration", "rule"], name="leads_membership_once_per_rule"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.registration_id} in {self.provenance_id}"


class WalkMark(models.Model):
    """Where the next walk of a rule over an event may start.

    Every registration written by a transaction older than ``seen_xid`` was looked at by a complete walk
    under the conditions that ``fingerprint`` stands for. Without a row the walk looks at all of them.
    """

    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="+", db_index=False)
    rule = models.ForeignKey(LeadRule, on_delete=models.CASCADE, related_name="+")
    fingerprint = models.CharField(max_length=64)
    seen_xid = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["event", "rule"], name="leads_walkmark_once")
        ]

    def __str__(self) -> str:
        return f"{self.rule_id} over {self.event_id} to {self.seen_xid}"


class Lead(models.Model):
    """A lead of the database sink."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    rule = models.ForeignKey(LeadRule, on_delete=models.PROTECT, related_name="+", db_index=False)
    group_key = models.CharField(max_length=200)
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="leads")
    tenant_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 NULL = ours
    name = models.CharField(max_length=300)
    contact_name = models.CharField(max_length=200, blank=True)
    email = models.CharField(max_length=254, blank=True)
    phone = models.CharField(max_length=50, blank=True)
    company_name = models.CharField(max_length=200, blank=True)
    partner_id = models.CharField(max_length=64, blank=True)
    sale_order_id = models.CharField(max_length=64, blank=True)
    registrations = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "group_key"], name="leads_lead_group")
        ]
        indexes = [models.Index(fields=["-created_at"], name="leads_lead_newest")]

    def __str__(self) -> str:
        return self.name
