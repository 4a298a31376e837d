"""How backups stand at this moment, a line for each target, in two reads."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Subquery
from django.urls import reverse
from django.utils.safestring import SafeString

from backups.models import BackupRun, BackupSchedule, BackupTarget
from hubqueue.admin import cells
from hubqueue.admin.overviews import Overview, add
from hubqueue.querysets import database_now

Run = BackupRun.State
MOST_TARGETS = 50


@dataclass(frozen=True, slots=True)
class Line:
    """One target. ``failed``: its last run that ended. ``unsound``: one of its archives is not sound.
    ``held``: it or a schedule of it waits since a restore of the whole system."""

    name: str
    address: str
    success: SafeString | str
    running: SafeString | str
    failed: bool
    unsound: bool
    disabled: bool
    held: bool


def now() -> dict[str, Any]:
    """What the block of backups shows."""
    runs = BackupRun.objects.filter(target=OuterRef("pk")).order_by("-started_at")
    whole = runs.filter(state=Run.SUCCEEDED, expiring_at__isnull=True)
    ended = runs.filter(state__in=[Run.SUCCEEDED, Run.FAILED, Run.EXPIRED])
    found = list(
        BackupTarget.objects.order_by("name").annotate(
            success=Subquery(whole.values("started_at")[:1]),
            share=Subquery(runs.filter(state=Run.RUNNING).values("share")[:1]),
            last=Subquery(ended.values("state")[:1]),
            unsound=Exists(whole.exclude(findings=[])),
            waits=Exists(BackupSchedule.objects.filter(target=OuterRef("pk"), held=True)),
        )[: MOST_TARGETS + 1]
    )
    at = database_now(BackupTarget.objects.db)
    base = reverse("admin:backups_backuprun_changelist")
    return {
        "lines": [_line(each, base, at) for each in found[:MOST_TARGETS]],
        "more": len(found) > MOST_TARGETS,
    }


add(Overview("admin/backups/now.html", now, "backups.view_backuprun"))


def _line(target: Any, base: str, at: Any) -> Line:
    return Line(
        name=target.name,
        address=f"{base}?target__id__exact={target.pk}",
        success=cells.when(target.success, at) if target.success else "never",
        running=cells.bar(target.share),
        failed=target.last == Run.FAILED,
        unsound=target.unsound,
        disabled=not target.enabled,
        held=target.held or target.waits,
    )
