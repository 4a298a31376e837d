"""Restores: how each goes or went."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin.restore_verbs import CANCEL
from backups.admin.run_cells import meaning
from backups.models import BackupRestore
from hubqueue.admin import cells
from hubqueue.admin.ask import ask_and_do
from hubqueue.admin.readonly import LookOnlyAdmin

State = BackupRestore.State
LOOKS = {State.RUNNING: "running", State.SUCCEEDED: "succeeded", State.FAILED: "dead"}


@admin.register(BackupRestore)
class BackupRestoreAdmin(LookOnlyAdmin[BackupRestore]):
    list_display = ["state_", "tenant_", "mode", "phase", "rows", "requested_", "asked_by", "said_"]
    list_display_links = ["tenant_"]
    list_filter = ["state", "mode"]
    list_select_related = ["run"]
    ordering = ["-id"]
    sortable_by = ()
    actions = ["cancel"]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand, into targets and their credentials least of all."""
        return lookup in {"state__exact", "mode__exact"}

    @admin.action(description=CANCEL.label, permissions=["view"])
    def cancel(
        self, request: HttpRequest, queryset: QuerySet[BackupRestore]
    ) -> HttpResponse | None:
        """Ask why, then stop them."""
        return ask_and_do(self, request, queryset, CANCEL)

    @admin.display(description="state")
    def state_(self, row: BackupRestore) -> SafeString:
        state = State(row.state)
        shown = cells.tag(str(state.label).capitalize(), LOOKS.get(state, "quiet"))
        if state != State.RUNNING:
            return shown
        return format_html("{} {}", shown, cells.bar(row.share))

    @admin.display(description="tenant")
    def tenant_(self, row: BackupRestore) -> str:
        return row.tenant or "The whole installation"

    @admin.display(description="requested")
    def requested_(self, row: BackupRestore) -> SafeString | str:
        return cells.when(row.requested_at, timezone.now())

    @admin.display(description="what there is to say")
    def said_(self, row: BackupRestore) -> str:
        report: dict[str, Any] = row.report or {}
        if row.code:
            return meaning(row.code)
        return str(report.get("refused") or cells.NOTHING)
