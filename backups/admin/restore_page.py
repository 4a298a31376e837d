"""What the page of one restore shows."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin.links import Link, job_links, verb_links
from backups.admin.meanings import meaning
from backups.admin.restore_verbs import CANCEL
from backups.models import BackupRestore, BackupRun
from backups.restoring.closing import UNTOUCHED
from hubqueue.admin import cells
from hubqueue.admin.viewer import Viewer

State, Mode, Phase = BackupRestore.State, BackupRestore.Mode, BackupRestore.Phase
LOOKS = {State.RUNNING: "running", State.SUCCEEDED: "succeeded", State.FAILED: "dead"}
ROWS_MAY_BE_GONE = {Phase.CLEAR, Phase.LOAD, Phase.LINK}


def described(row: BackupRestore, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """The template's context; ``moving`` = more is to come, so the page looks again by itself."""
    moving = row.state == State.RUNNING
    return {
        "title": f"{row.get_mode_display()}: {whose(row)}",
        "pill": pill(row),
        "moving": moving,
        "bar": cells.bar(row.share) if moving else None,
        "sentences": list(_standing(row)),
        "what": "The restore",
        "facts": list(_facts(row, now)),
        "links": list(_links(row, viewer)),
    }


def pill(row: BackupRestore) -> SafeString:
    state = State(row.state)
    return cells.tag(str(state.label).capitalize(), LOOKS.get(state, "quiet"))


def whose(row: BackupRestore) -> str:
    """Whose rows: a tenant's or the installation's."""
    return f"Tenant {row.tenant}" if row.tenant else "The whole installation"


def _standing(row: BackupRestore) -> Iterator[str]:
    report: dict[str, Any] = row.report or {}
    if row.state == State.RUNNING:
        yield f"{row.get_phase_display()}; this page follows by itself."
    if row.code:
        yield f"It met this: {meaning(row.code)}"
    if row.mode == Mode.INSPECT and row.state == State.SUCCEEDED:
        refused = report.get("refused")
        yield f"It could not be restored here: {refused}" if refused else "It could be restored."
    elif row.state == State.SUCCEEDED:
        yield f"{row.rows:,} rows were written."
    elif row.state != State.RUNNING:
        yield from _stopped(row)
    if row.paused:
        yield f"The tenant {row.tenant} is paused by it: workers run none of its jobs."


def _stopped(row: BackupRestore) -> Iterator[str]:
    if row.mode == Mode.REPLACE and row.phase in ROWS_MAY_BE_GONE:
        yield "Part of the rows may be gone: restore this archive again, or the copy that was made first."
    elif row.mode == Mode.NEW_TENANT and row.cleared:
        yield f"What had been written of {row.tenant} by then is gone again."
    elif row.mode == Mode.NEW_TENANT and row.phase not in UNTOUCHED:
        yield f"What had been written of {row.tenant} by then is being taken away."
    elif row.rows:
        yield f"{row.rows:,} rows had been written by then; they stay."
    else:
        yield "Nothing was written."


def _facts(row: BackupRestore, now: datetime) -> Iterator[tuple[str, object]]:
    yield "archive", _run(row.run)
    yield "what it does", row.get_mode_display()
    if row.if_there:
        yield "a row that is there", row.get_if_there_display()
    yield "asked by", row.asked_by or cells.NOTHING
    yield "requested", cells.when(row.requested_at, now)
    if row.finished_at is not None:
        yield "finished", cells.when(row.finished_at, now)
    yield "rows written", f"{row.rows:,}"
    if row.safety is not None:
        yield "copy made first", _run(row.safety)
    for label, count in sorted(((row.report or {}).get("rows") or {}).items()):
        yield f"rows of {label}", f"{count:,}" if isinstance(count, int) else str(count)
    yield "id", str(row.pk)


def _run(run: BackupRun) -> SafeString:
    address = reverse("admin:backups_backuprun_change", args=[run.pk])
    return format_html('<a href="{}">{}</a>', address, run)


def _links(row: BackupRestore, viewer: Viewer) -> Iterator[Link]:
    if row.state == State.RUNNING:
        page = "admin:backups_backuprestore_verb"
        yield from verb_links(page, row.pk, [CANCEL], viewer, dangers=[CANCEL])
    yield from job_links(row.job_id, viewer)
    yield Link("What officers did", reverse("admin:backups_backuprestore_history", args=[row.pk]))
