"""Runs of backups: the list, the page of one that follows by itself, and the generations of a schedule."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin import run_cells
from backups.admin.generations import generations
from backups.admin.run_page import described
from backups.admin.run_verbs import VERBS
from backups.models import BackupRun, BackupSchedule
from hubqueue.admin import cells
from hubqueue.admin.ask import ask_and_do
from hubqueue.admin.readonly import LookOnlyAdmin
from hubqueue.querysets import database_now


@admin.register(BackupRun)
class BackupRunAdmin(LookOnlyAdmin[BackupRun]):
    change_list_template = "admin/backups/runs.html"
    list_display = [
        "state_",
        "archive_",
        "verified_",
        "target",
        "started_",
        "duration_",
        "size_",
        "scope_",
        "mode",
        "trigger",
    ]
    list_display_links = ["archive_"]
    list_filter = ["state", "target", "trigger"]
    list_select_related = ["target"]
    ordering = ["-id"]
    sortable_by = ()
    actions = None

    class Media:
        css = {"all": ["backups/backups.css"]}

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand, into targets and their credentials least of all."""
        return lookup in {"state__exact", "target__id__exact", "trigger__exact"}

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path(
                "generations/<uuid:schedule_id>/",
                wrap(self.generations_view),
                name="backups_generations",
            ),
            path(
                "<uuid:row_id>/do/<slug:word>/", wrap(self.verb_view), name="backups_backuprun_verb"
            ),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one run."""
        row = self.get_object(request, object_id)
        if row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        context = described(row, request.user, database_now(self.get_queryset(request).db))
        return self._page(request, "standing.html", context)

    def verb_view(self, request: HttpRequest, row_id: UUID, word: str) -> HttpResponse:
        """Ask why; with an answer do it and go back to the run."""
        if word not in VERBS:
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=get_object_or_404(BackupRun, pk=row_id).pk)
        back = reverse("admin:backups_backuprun_change", args=[row_id])
        asked = ask_and_do(self, request, rows, VERBS[word], back=back)
        return asked or HttpResponseRedirect(back)

    def generations_view(self, request: HttpRequest, schedule_id: UUID) -> HttpResponse:
        """What the plan of a schedule keeps, and why."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        schedule = get_object_or_404(
            BackupSchedule.objects.select_related("target"), pk=schedule_id
        )
        return self._page(request, "generations_page.html", generations(schedule))

    def _page(self, request: HttpRequest, name: str, context: dict[str, Any]) -> TemplateResponse:
        usual = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
        }
        return TemplateResponse(request, f"admin/backups/{name}", {**usual, **context})

    @admin.display(description="state")
    def state_(self, row: BackupRun) -> SafeString:
        shown = run_cells.pill(row)
        if row.state != BackupRun.State.RUNNING:
            return shown
        return format_html("{} {}", shown, cells.bar(row.share))

    @admin.display(description="archive")
    def archive_(self, row: BackupRun) -> str:
        return row.archive.removeprefix("hubqueue-backup-") or cells.short(row.pk)

    @admin.display(description="scope")
    def scope_(self, row: BackupRun) -> str:
        return run_cells.scope(row)

    @admin.display(description="started")
    def started_(self, row: BackupRun) -> SafeString | str:
        return cells.when(row.started_at, timezone.now())

    @admin.display(description="duration")
    def duration_(self, row: BackupRun) -> str:
        return run_cells.duration(row, timezone.now())

    @admin.display(description="size")
    def size_(self, row: BackupRun) -> str:
        return run_cells.size(row)

    @admin.display(description="verified")
    def verified_(self, row: BackupRun) -> SafeString | str:
        return run_cells.soundness(row)
