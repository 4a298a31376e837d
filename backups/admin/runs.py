"""Runs of backups: the list, the page of one that follows by itself, and the generations of a schedule."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin import run_cells
from backups.admin.generations import generations
from backups.admin.run_page import described
from backups.admin.run_verbs import VERBS
from backups.admin.standing import StandingAdmin
from backups.models import BackupRun, BackupSchedule
from hubqueue.admin import cells
from hubqueue.admin.viewer import Viewer


@admin.register(BackupRun)
class BackupRunAdmin(StandingAdmin[BackupRun]):
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
    verbs = VERBS

    class Media:
        css = {"all": ["backups/backups.css"]}

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand, into targets and their credentials least of all."""
        return lookup in {"state__exact", "target__id__exact", "trigger__exact"}

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.generations_view)
        address = "generations/<uuid:schedule_id>/"
        return [path(address, view, name="backups_generations"), *super().get_urls()]

    def described(self, row: BackupRun, viewer: Viewer, now: datetime) -> dict[str, Any]:
        return described(row, viewer, now)

    def generations_view(self, request: HttpRequest, schedule_id: UUID) -> HttpResponse:
        """What the plan of a schedule keeps, and why."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        schedule = get_object_or_404(
            BackupSchedule.objects.select_related("target"), pk=schedule_id
        )
        return self.page(request, "generations_page.html", generations(schedule))

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
