"""Restores: the list, and the page of one that follows by itself."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin.restore_page import described, pill, whose
from backups.admin.restore_verbs import CANCEL
from backups.admin.standing import StandingAdmin
from backups.models import BackupRestore
from hubqueue.admin import cells
from hubqueue.admin.viewer import Viewer

VERBS = {each.word: each for each in (CANCEL,)}


@admin.register(BackupRestore)
class BackupRestoreAdmin(StandingAdmin[BackupRestore]):
    list_display = ["state_", "whose_", "mode", "phase", "rows", "requested_", "asked_by"]
    list_display_links = ["whose_"]
    list_filter = ["state", "mode"]
    list_select_related = ["run"]
    ordering = ["-id"]
    verbs = VERBS

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand, into targets and their credentials least of all."""
        return lookup in {"state__exact", "mode__exact"}

    def described(self, row: BackupRestore, viewer: Viewer, now: datetime) -> dict[str, Any]:
        return described(row, viewer, now)

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
