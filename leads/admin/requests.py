"""Lead requests: how each event stands, and the officers' verbs."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from leads import officers
from leads.admin.base import LookOnlyAdmin, Verb, ask_and_do
from leads.models import LeadArm, LeadRequest

VERBS = {
    "run": Verb(
        "run",
        "Run now",
        "Every registration of the event is looked at now, whether the request is done or not.",
        "leads.run_leadrequest",
        lambda row, actor, reason: officers.run(row.event_id, actor=actor, reason=reason),
    ),
    "park": Verb(
        "park",
        "Park",
        "No leads of the event are generated until somebody releases it. A walk ends at its next page.",
        "leads.park_leadrequest",
        lambda row, actor, reason: officers.park(row.event_id, actor=actor, reason=reason),
    ),
    "release": Verb(
        "release",
        "Release",
        "The next pass takes the event again.",
        "leads.release_leadrequest",
        lambda row, actor, reason: officers.release(row.event_id, actor=actor, reason=reason),
    ),
    "rearm": Verb(
        "rearm",
        "Arm again",
        "The next pass looks at every registration of the event, at once even after a failure.",
        "leads.rearm_leadrequest",
        lambda row, actor, reason: officers.rearm(row.event_id, actor=actor, reason=reason),
    ),
}


class StandingFilter(admin.SimpleListFilter):
    title = "standing"
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("open", "Open"),
            ("done", "Done"),
            ("leased", "Being walked"),
            ("failed", "Failed"),
            ("parked", "Parked"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        rows = LeadRequest.objects.filter(pk__in=queryset.values("pk"))
        match self.value():
            case "open":
                return queryset.filter(done=False)
            case "done":
                return queryset.filter(done=True)
            case "leased":
                return queryset.filter(pk__in=rows.leased().values("pk"))
            case "failed":
                return queryset.exclude(error_detail="")
            case "parked":
                return queryset.filter(parked_at__isnull=False)
        return queryset


@admin.register(LeadRequest)
class LeadRequestAdmin(LookOnlyAdmin[LeadRequest]):
    list_display = ["event", "standing", "armed", "claimed", "error_detail", "attempted_at"]
    list_filter = [StandingFilter]
    list_select_related = ["event"]
    search_fields = ["event__code__startswith", "event__name__istartswith"]
    ordering = ["-id"]
    sortable_by = ()
    actions = ["run", "park", "release", "rearm"]
    fields = [
        "event", "standing", "armed", "claimed", "error_detail", "failures", "next_attempt_at",
        "parked_at", "park_reason", "walk", "attempted_at", "created_at", "created_by", "updated_at",
        "updated_by",
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[LeadRequest]:
        arms = LeadArm.objects.filter(event_id=OuterRef("event_id"))
        return super().get_queryset(request).annotate(is_armed=Exists(arms))

    @admin.action(description="Run now …", permissions=["run"])
    def run(self, request: HttpRequest, queryset: QuerySet[LeadRequest]) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, VERBS["run"])

    def has_run_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(VERBS["run"].permission)

    @admin.action(description="Park …", permissions=["park"])
    def park(self, request: HttpRequest, queryset: QuerySet[LeadRequest]) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, VERBS["park"])

    def has_park_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(VERBS["park"].permission)

    @admin.action(description="Release …", permissions=["release"])
    def release(self, request: HttpRequest, queryset: QuerySet[LeadRequest]) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, VERBS["release"])

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(VERBS["release"].permission)

    @admin.action(description="Arm again …", permissions=["rearm"])
    def rearm(self, request: HttpRequest, queryset: QuerySet[LeadRequest]) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, VERBS["rearm"])

    def has_rearm_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(VERBS["rearm"].permission)

    @admin.display(description="standing")
    def standing(self, row: LeadRequest) -> SafeString:
        word, look = _standing(row)
        return format_html('<span class="hq-pill hq-{}">{}</span>', look, word)

    @admin.display(description="armed", boolean=True)
    def armed(self, row: Any) -> bool:
        return bool(row.is_armed)

    @admin.display(description="walked by")
    def claimed(self, row: LeadRequest) -> SafeString | str:
        if row.claimed_at is None:
            return cells.NOTHING
        since = cells.when(row.claimed_at, timezone.now())
        return format_html("{}, lease of {}", row.claimed_by or "?", since)

    @admin.display(description="progress of the last walk")
    def walk(self, row: LeadRequest) -> SafeString | str:
        if not row.progress:
            return cells.NOTHING
        said = [(name.replace("_", " "), count) for name, count in row.progress.items()]
        return format_html_join(", ", "{}: {}", said)


def _standing(row: LeadRequest) -> tuple[str, str]:
    if row.parked_at is not None:
        return "Parked", "parked"
    if row.claimed_at is not None:
        return "Being walked", "running"
    if row.error_detail:
        return "Failed, will be tried again", "retry"
    return ("Done", "succeeded") if row.done else ("Open", "due")
