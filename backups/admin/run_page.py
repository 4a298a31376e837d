"""What the page of one run shows."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin import run_cells
from backups.admin.links import Link, job_links, verb_links
from backups.admin.meanings import meaning
from backups.admin.run_verbs import DANGERS, fitting
from backups.models import BackupRun
from hubqueue.admin import cells
from hubqueue.admin.viewer import Viewer

Run = BackupRun.State
Said = list[SafeString | str]


def described(run: BackupRun, viewer: Viewer, now: datetime) -> dict[str, Any]:
    """The template's context; ``moving`` = more is to come, so the page looks again by itself."""
    moving = run.state == Run.RUNNING
    return {
        "title": str(run),
        "pill": run_cells.pill(run),
        "moving": moving,
        "bar": cells.bar(run.share) if moving else None,
        "sentences": _standing(run, now),
        "facts": _facts(run, now),
        "what": "The run",
        "links": list(_links(run, viewer)),
    }


def _links(run: BackupRun, viewer: Viewer) -> Iterator[Link]:
    page = "admin:backups_backuprun_verb"
    yield from verb_links(page, run.pk, fitting(run), viewer, dangers=DANGERS)
    if run.schedule_id:
        address = reverse("admin:backups_generations", args=[run.schedule_id])
        yield Link("Generations", address)
    yield from job_links(run.job_id, viewer)
    yield Link("What officers did", reverse("admin:backups_backuprun_history", args=[run.pk]))


def _standing(run: BackupRun, now: datetime) -> Said:
    said: Said = []
    if run.state == Run.RUNNING:
        said.append("It is being made; this page follows by itself.")
        if run.code:
            said.append(f"An attempt failed: {meaning(run.code)} It is tried again by itself.")
    elif run.state == Run.FAILED:
        said.append(f"It failed: {meaning(run.code)}" if run.code else "It failed.")
        said.append("There is no archive of it. Back up now on the target's page starts another.")
    elif run.state == Run.CANCELLED:
        said.append("An officer stopped it. There is no archive of it.")
    elif run.state == Run.EXPIRED:
        said.append(f"Its archive was deleted: {_why_it_went(run)}.")
    elif run_cells.is_going(run):
        said.append(f"Its archive is being deleted: {_why_it_went(run)}.")
    else:
        said += _archive(run, now)
    if run.promoted:
        said.append(f"It was to hold what changed only, but is full: {meaning(run.promoted)}")
    return said


def _why_it_went(run: BackupRun) -> str:
    """No plan deletes what is not sound."""
    return (
        "it was not sound, an officer had it deleted"
        if run.findings
        else "the plan did not keep it any more"
    )


def _archive(run: BackupRun, now: datetime) -> Said:
    said: Said = []
    if run.verified_at is None:
        said.append("Its archive was never verified: Verify reads every byte of it.")
    elif run.findings:
        said.append(
            format_html("Its archive is not sound, found {}:", cells.when(run.verified_at, now))
        )
        said += [meaning(code) for code in run.findings]
        said.append(
            "Do not rely on it: back up now, and look for what damages archives there. No plan deletes it; Delete does."
        )
    else:
        said.append(
            format_html("Its archive was found sound {}.", cells.when(run.verified_at, now))
        )
    if run.media_missing:
        said.append(
            f"Of {run.media_missing:,} names of files in its rows no file was there to be taken, or it was another each"
            " time it was read; the rest is in it. manage.py backups files tells which."
        )
    if run.pinned_until is not None and run.pinned_until > now:
        said.append(f"Pinned: no plan deletes it before {run.pinned_until:%Y-%m-%d %H:%M} UTC.")
    return said


def _facts(run: BackupRun, now: datetime) -> list[tuple[str, object]]:
    counts = [("rows", run.rows), ("media", run.media)]
    facts: list[tuple[str, object]] = [
        ("target", run.target.name),
        ("scope", run_cells.scope(run)),
        ("mode", run.get_mode_display()),
        ("trigger", run.get_trigger_display()),
        ("asked by", run.asked_by or cells.NOTHING),
        ("schedule", run.schedule.name if run.schedule else cells.NOTHING),
        ("started", cells.when(run.started_at, now)),
        ("duration", run_cells.duration(run, now)),
        ("size", run_cells.size(run)),
        *((name, cells.NOTHING if count is None else f"{count:,}") for name, count in counts),
        ("archive", run.archive or cells.NOTHING),
        ("id", str(run.pk)),
    ]
    for label, moment in (("finished", run.finished_at), ("snapshot", run.snapshot_at)):
        if moment is not None:
            facts.append((label, cells.when(moment, now)))
    if run.parent_id:
        link = reverse("admin:backups_backuprun_change", args=[run.parent_id])
        facts.append(("continues", format_html('<a href="{}">{}</a>', link, run.parent)))
    return facts
