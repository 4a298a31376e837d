"""Rules with their conditions, and what came of them."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.db.models import Count, Q
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from hubqueue.admin.cells import NOTHING
from hubqueue.admin.readonly import BoundedAdmin
from leads import services
from leads.models import (
    Answer,
    Event,
    EventType,
    Grouping,
    LeadProvenance,
    LeadRule,
    LeadRulePredicate,
)


class PredicateInline(admin.TabularInline[LeadRulePredicate, LeadRule]):
    model = LeadRulePredicate
    extra = 0
    autocomplete_fields = ["question"]
    readonly_fields = ["meaning"]
    verbose_name_plural = "conditions: all of them must hold"
    verbose_name = "condition"

    @admin.display(description="which is")
    def meaning(self, predicate: LeadRulePredicate) -> str:
        return ", ".join(names_of(predicate)) or NOTHING


@admin.register(LeadRule)
class LeadRuleAdmin(BoundedAdmin[LeadRule]):
    list_display = ["name", "event", "active", "on_create", "on_confirm", "on_done"]
    list_filter = ["active"]
    list_select_related = ["event"]
    search_fields = ["name"]
    ordering = ["-id"]
    empty_value_display = "every event"
    autocomplete_fields = ["event"]
    inlines = [PredicateInline]
    readonly_fields = ["groups"]
    actions = None

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Store the conditions; then arm when what decides has changed, as every other door does."""
        with transaction.atomic():
            super().save_related(request, form, formsets, change)
            rule = form.instance
            if services.rule_conditions(rule) != request_before(request):
                services.arm_changed_rule(rule, by=request.user.get_username())

    def save_model(self, request: HttpRequest, obj: LeadRule, form: Any, change: bool) -> None:
        before = services.rule_conditions(obj) if change else None
        request.META["leads.rule_before"] = before
        super().save_model(request, obj, form, change)

    def get_readonly_fields(self, request: HttpRequest, obj: LeadRule | None = None) -> list[str]:
        return ["groups"] if obj is not None else []

    def get_fields(self, request: HttpRequest, obj: LeadRule | None = None) -> list[Any]:
        fields = ["name", "event", "on_create", "on_confirm", "on_done", "active"]
        return [*fields, "groups"] if obj is not None else fields

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name == "values":
            kwargs["widget"] = forms.Textarea(attrs={"rows": 2, "cols": 60})
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @admin.display(description="groups so far")
    def groups(self, rule: LeadRule) -> SafeString | str:
        counted = (
            LeadProvenance.objects.filter(rule=rule)
            .values_list("grouping")
            .annotate(all=Count("id"), led=Count("id", filter=Q(lead_id__isnull=False)))
            .order_by("grouping")
        )
        labels = dict(Grouping.choices)
        said = [(labels[grouping], groups, led) for grouping, groups, led in counted]
        return format_html_join("; ", "{}: {}, with a lead {}", said) or NOTHING


MOST_NAMED = 10


def names_of(predicate: LeadRulePredicate) -> list[str]:
    """The names behind the ids of a condition, as far as they are known here."""
    models: dict[str, type[Event] | type[EventType] | type[Answer]] = {
        "event": Event, "event_type": EventType, "question_answer": Answer,
    }  # fmt: skip
    model = models.get(predicate.axis)
    stored = LeadRulePredicate.objects.filter(pk=predicate.pk).first()
    if model is None or stored is None:
        return []
    return [str(row) for row in model._default_manager.filter(pk__in=stored.values)[:MOST_NAMED]]


def request_before(request: HttpRequest) -> Any:
    """What decided before this request changed the rule; None when it is new."""
    return request.META.get("leads.rule_before")
