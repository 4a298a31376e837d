"""Which registrations become leads. The vocabulary is closed: nothing stored is ever evaluated."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL

from hubqueue.ids import uuid7
from leads.models.events import Event, Question
from leads.predicates import Axis, PredicateRefused, parse


class Grouping(models.TextChoices):
    """How the registrations of one lead belong together."""

    PER_ORDER = "per_order", "per order"
    PER_EVENT_DAY = "per_event_day", "per event and day"


class LeadRule(models.Model):
    """A rule for one event, or for every event when ``event`` is empty.

    The three switches say which moments of a registration wake the rule; at least one is on. A rule
    with ``on_done`` alone takes registrations that are done, every other one open and done ones.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=200)
    event = models.ForeignKey(
        Event, on_delete=models.PROTECT, null=True, blank=True, related_name="lead_rules"
    )
    on_create = models.BooleanField(default=False)
    on_confirm = models.BooleanField(default=False)
    on_done = models.BooleanField(default=False)
    active = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(on_create=True) | Q(on_confirm=True) | Q(on_done=True),
                name="leads_leadrule_some_trigger",
            )
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if not (self.on_create or self.on_confirm or self.on_done):
            raise ValidationError(
                "Expected at least one of on create, on confirm and on done; switch one on.",
                code="no_trigger",
            )

    @property
    def done_only(self) -> bool:
        return self.on_done and not (self.on_create or self.on_confirm)


class LeadRulePredicate(models.Model):
    """One condition of a rule: the axis has one of ``values``. All conditions of a rule must hold."""

    rule = models.ForeignKey(LeadRule, on_delete=models.CASCADE, related_name="predicates")
    axis = models.CharField(max_length=15, choices=[(a.value, a.value) for a in Axis])
    question = models.ForeignKey(Question, on_delete=models.PROTECT, null=True, blank=True)
    values = models.JSONField(help_text='A JSON array of ids, e.g. ["0198a9c1-..."].')

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(axis__in=sorted(Axis)), name="leads_leadrulepredicate_axis"
            ),
            models.CheckConstraint(
                condition=Q(axis="question_answer", question__isnull=False)
                | (~Q(axis="question_answer") & Q(question__isnull=True)),
                name="leads_leadrulepredicate_question",
            ),
            models.CheckConstraint(
                condition=RawSQL(
                    "CASE WHEN jsonb_typeof(\"values\") = 'array'"
                    ' THEN jsonb_array_length("values") > 0 ELSE false END',
                    (),
                    models.BooleanField(),
                ),
                name="leads_leadrulepredicate_values",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.axis}: {len(self.values)} values"

    def clean(self) -> None:
        given: dict[str, Any] = {"axis": self.axis, "values": self.values}
        if self.question_id is not None:
            given["question_id"] = str(self.question_id)
        try:
            parsed = parse(given)
        except PredicateRefused as refused:
            raise ValidationError(str(refused), code="predicate") from refused
        self.values = [str(value) for value in parsed.values]
