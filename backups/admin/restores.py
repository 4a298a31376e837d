"""Restores: the list, and the page of one that follows by itself."""

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

from backups.admin.restore_page import described, pill, whose
from backups.admin.restore_verbs import CANCEL
from backups.models import BackupRestore
from hubqueue.admin import cells
from hubqueue.admin.ask import ask_and_do
from hubqueue.admin.readonly import LookOnlyAdmin
from hubqueue.querysets import database_now

VERBS = {each.word: each for each in (CANCEL,)}


@admin.register(BackupRestore)
class BackupRestoreAdmin(LookOnlyAdmin[BackupRestore]):
    list_display = ["state_", "whose_", "mode", "phase", "rows", "requested_", "asked_by"]
    list_display_links = ["whose_"]
    list_filter = ["state", "mode"]
    list_select_related = ["run"]
    ordering = ["-id"]
    sortable_by = ()
    actions = None

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand, into targets and their credentials least of all."""
        return lookup in {"state__exact", "mode__exact"}

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.verb_view)
        return [
            path("<uuid:row_id>/do/<slug:word>/", view, name="backups_backuprestore_verb"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one restore."""
        row = self.get_object(request, object_id)
        if row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            **described(row, request.user, database_now(self.get_queryset(request).db)),
        }
        return TemplateResponse(request, "admin/backups/standing.html", context)

    def verb_view(self, request: HttpRequest, row_id: UUID, word: str) -> HttpResponse:
        """Ask why; with an answer do it and go back to the restore."""
        if word not in VERBS:
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=get_object_or_404(BackupRestore, pk=row_id).pk)
        back = reverse("admin:backups_backuprestore_change", args=[row_id])
        asked = ask_and_do(self, request, rows, VERBS[word], back=back)
        return asked or HttpResponseRedirect(back)

    @admin.display(description="state")
    def state_(self, row: BackupRestore) -> SafeString:
        shown = pill(row)
        if row.state != BackupRestore.State.RUNNING:
            return shown
        return format_html("{} {}", shown, cells.bar(row.share))

    @admin.display(description="of")
    def whose_(self, row: BackupRestore) -> str:
        return whose(row)

    @admin.display(description="requested")
    def requested_(self, row: BackupRestore) -> SafeString | str:
        return cells.when(row.requested_at, timezone.now())
