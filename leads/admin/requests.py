"""Lead requests: how each event stands, and the officers' verbs."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from hubqueue.admin.ask import ask_and_do
from hubqueue.admin.readonly import LookOnlyAdmin
from hubqueue.querysets import database_now
from leads.admin.request_page import described
from leads.admin.request_verbs import VERBS, fitting
from leads.admin.standing import pill, walker
from leads.models import LeadArm, LeadRequest


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
    list_display = ["event", "standing", "claimed", "failure", "attempted"]
    list_filter = [StandingFilter]
    search_fields = ["event__code__startswith", "event__name__istartswith"]
    search_help_text = "How the code or the name of an event begins."
    ordering = ["-id"]
    sortable_by = ()
    actions = ["run", "park", "release", "rearm"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[LeadRequest]:
        arms = LeadArm.objects.filter(event_id=OuterRef("event_id"))
        rows = super().get_queryset(request).select_related("event")
        return rows.annotate(is_armed=Exists(arms))

    def get_urls(self) -> list[Any]:
        verb = self.admin_site.admin_view(self.verb_view)
        return [
            path("<uuid:row_id>/<slug:word>/now/", verb, name="leads_leadrequest_verb"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one event's request."""
        row: Any = self.get_object(request, object_id)
        if row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        now = database_now(self.get_queryset(request).db)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            **described(row, now, armed=row.is_armed),
            "verbs": [v for v in fitting(row, now) if request.user.has_perm(v.permission)],
        }
        return TemplateResponse(request, "admin/leads/request.html", context)

    def verb_view(self, request: HttpRequest, row_id: UUID, word: str) -> HttpResponse:
        """Ask why; with an answer do it and go back to the request."""
        if word not in VERBS:
            raise Http404
        rows = self.get_queryset(request).filter(pk=get_object_or_404(LeadRequest, pk=row_id).pk)
        back = reverse("admin:leads_leadrequest_change", args=[row_id])
        asked = ask_and_do(self, request, rows, VERBS[word], back=back)
        return asked or HttpResponseRedirect(back)

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
    def standing(self, row: Any) -> SafeString:
        return pill(row, timezone.now(), armed=row.is_armed)

    @admin.display(description="walked by")
    def claimed(self, row: LeadRequest) -> SafeString | str:
        if row.claimed_at is None:
            return cells.NOTHING
        since = cells.when(row.claimed_at, timezone.now())
        return format_html("{}, last heard of {}", walker(row), since)

    @admin.display(description="last failure")
    def failure(self, row: LeadRequest) -> SafeString | str:
        if not row.error_detail:
            return cells.NOTHING
        return format_html('<span class="hq-code">{}</span>', row.error_detail)

    @admin.display(description="last walk")
    def attempted(self, row: LeadRequest) -> SafeString | str:
        return cells.when(row.attempted_at, timezone.now())
