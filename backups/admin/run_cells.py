"""How a run looks to officers: its state, what it was asked to hold, and what is known of its archive."""

from datetime import datetime

from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString

from backups.models import BackupRun, Content
from hubqueue.admin import cells

Run = BackupRun.State
LOOKS = {Run.RUNNING: "running", Run.SUCCEEDED: "succeeded", Run.FAILED: "dead"}


def pill(run: BackupRun) -> SafeString:
    if is_going(run):
        return cells.tag("Being deleted", "parked")
    state = Run(run.state)
    return cells.tag(str(state.label).capitalize(), LOOKS.get(state, "quiet"))


def scope(run: BackupRun) -> str:
    """Whose rows: a tenant's, the installation's, or a dump of the database."""
    if run.content == Content.SYSTEM:
        return str(Content.SYSTEM.label)
    return "The whole installation" if run.tenant is None else f"Tenant {run.tenant}"


def duration(run: BackupRun, now: datetime) -> str:
    return cells.span(((run.finished_at or now) - run.started_at).total_seconds())


def size(run: BackupRun) -> str:
    return cells.NOTHING if run.bytes is None else filesizeformat(run.bytes)


def soundness(run: BackupRun) -> SafeString | str:
    """Of the last verification; nothing for a run without an archive."""
    if run.state != Run.SUCCEEDED:
        return cells.NOTHING
    if run.findings:
        return cells.tag("Not sound", "dead")
    return "never verified" if run.verified_at is None else "sound"


def is_whole(run: BackupRun) -> bool:
    """Whether it has an archive that nothing deletes."""
    return run.state == Run.SUCCEEDED and run.expiring_at is None


def is_going(run: BackupRun) -> bool:
    return run.state == Run.SUCCEEDED and run.expiring_at is not None
