"""Schedules: make and edit them, and see when they fire next and how the last run went."""

from dataclasses import dataclass
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin.schedule_form import ScheduleForm
from backups.errors import RuleRefused
from backups.models import BackupRun, BackupSchedule
from backups.schedules.keep import keep
from backups.schedules.occurrences import occurrences
from hubqueue.admin import cells
from hubqueue.admin.readonly import BoundedAdmin
from hubqueue.querysets import database_now

NEXT = 5
UNREADABLE = (
    "Its rule or zone cannot be read any more: it owes nothing until somebody saves one that can."
)
HELD = (
    "It is not enabled since this database was restored from a copy: it starts no runs and no archive expires by it."
    " Enable it when the installation that was copied makes no archives at its target any more."
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A row of the table of next moments."""

    local: str
    utc: str
    kind: str


@admin.register(BackupSchedule)
class BackupScheduleAdmin(BoundedAdmin[BackupSchedule]):
    form = ScheduleForm
    change_form_template = "admin/backups/schedule.html"
    list_display = ["name", "target", "whose", "rule", "zone", "enabled", "owes"]
    list_filter = ["enabled", "target"]
    list_select_related = ["target"]
    search_fields = ["name__icontains"]
    ordering = ["name"]
    sortable_by = ()
    actions = None
    fieldsets = [
        (None, {"fields": ["name", "target", "tenant", "content", "enabled"]}),
        ("When", {"fields": ["rule", "full_rule", "zone"]}),
        (
            "How long archives stay",
            {
                "fields": [
                    "keep_last",
                    "keep_daily",
                    "keep_weekly",
                    "keep_monthly",
                    "keep_yearly",
                    "min_keep",
                ],
            },
        ),
        ("Who hears of it", {"fields": ["notify_on"]}),
    ]

    def save_model(self, request: HttpRequest, obj: BackupSchedule, form: Any, change: bool) -> None:  # fmt: skip
        """Through the one writer: what is owed and the job that fires it are saved with the row."""
        keep(obj)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj: BackupSchedule | None = kwargs.get("obj")
        if obj is not None:
            # The form may hold what was refused just now: what stands is in the row.
            row = BackupSchedule.objects.select_related("target").get(pk=obj.pk)
            context |= {
                "title": row.name,
                "subtitle": None,
                "sentences": _standing_of(row),
                "moments": _moments_of(row),
                "zone": row.zone,
            }
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="of")
    def whose(self, row: BackupSchedule) -> str:
        return row.tenant or "the whole installation"

    @admin.display(description="next run")
    def owes(self, row: BackupSchedule) -> SafeString | str:
        if row.unreadable:
            return cells.tag("unreadable", "dead")
        if not _owes(row):
            return cells.NOTHING
        return cells.when(row.next_run_at, database_now(_using(row)))


def _standing_of(row: BackupSchedule) -> list[SafeString | str]:
    now = database_now(_using(row))
    said: list[SafeString | str] = []
    if row.unreadable:
        said.append(UNREADABLE)
    elif row.held:
        said.append(HELD)
    elif not row.enabled:
        said.append("It is not enabled: it starts no runs.")
    elif not row.target.enabled:
        said.append("Its target is not enabled: it starts no runs until that is.")
    elif row.next_run_at is None:
        said.append("Its rule has ended: it starts no runs any more.")
    else:
        said.append(format_html("The next run is owed {}.", cells.when(row.next_run_at, now)))
    last = row.runs.order_by("-started_at", "-id").first()
    if last is None:
        said.append("It never ran.")
    else:
        started = cells.when(last.started_at, now)
        failed = f" with {last.code}" if last.state == BackupRun.State.FAILED else ""
        said.append(
            format_html("The last run started {}: {}{}.", started, last.get_state_display(), failed)
        )
    return said


def _moments_of(row: BackupSchedule) -> list[Moment]:
    if not _owes(row):
        return []
    try:
        found = occurrences(row, database_now(_using(row)), NEXT)
    except RuleRefused:
        return []
    zone = ZoneInfo(row.zone)
    return [
        Moment(
            f"{each.at.astimezone(zone):%a %Y-%m-%d %H:%M %z}",
            f"{each.at.astimezone(UTC):%Y-%m-%d %H:%M}",
            "full" if each.full else "what changed",
        )
        for each in found
    ]


def _owes(row: BackupSchedule) -> bool:
    return row.enabled and row.target.enabled and row.next_run_at is not None


def _using(row: BackupSchedule) -> str:
    return row._state.db or "default"
