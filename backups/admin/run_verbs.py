"""The officers' verbs on runs, with the permission each needs and what is asked before it is done."""

from datetime import UTC, date, datetime, time

from django import forms

from backups import officers
from backups.admin.restore_verbs import INSPECT, MERGE, NEW_TENANT, REPLACE
from backups.admin.run_cells import is_whole
from backups.errors import BackupError
from backups.models import BackupRun, Content
from hubqueue.admin.ask import Verb
from hubqueue.admin.verbs import ReasonForm
from hubqueue.errors import MoveRefused
from hubqueue.querysets import database_now


class PinForm(ReasonForm):
    """Why, and until when."""

    until = forms.DateField(
        label="Until",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="The first day (UTC) on which a plan may delete it again.",
    )

    def clean_until(self) -> datetime:
        day: date = self.cleaned_data["until"]
        moment = datetime.combine(day, time(), tzinfo=UTC)
        if moment <= database_now("default"):
            raise forms.ValidationError("Expected a day after today.")
        return moment


START = Verb(
    word="start",
    label="Back up now",
    explanation="A full archive of the whole installation is made at this target.",
    permission="backups.start_backuprun",
    done="the run has started.",
    do=lambda row, actor, reason: officers.start(row, actor=actor, reason=reason),
    refusal=BackupError,
)
CANCEL = Verb(
    word="cancel",
    label="Cancel",
    explanation="The run is stopped and what it wrote is deleted. There will be no archive of it.",
    permission="backups.cancel_backuprun",
    done="it is asked to stop, at its next block at the latest.",
    do=lambda row, actor, reason: officers.cancel(row, actor=actor, reason=reason),
    refusal=(BackupError, MoveRefused),
)
VERIFY = Verb(
    word="verify",
    label="Verify",
    explanation="Every byte of the archive is read back at the target and checked; nothing is changed.",
    permission="backups.verify_backuprun",
    done="a verification is queued; what it finds is shown here.",
    do=lambda row, actor, reason: officers.verify(row, actor=actor, reason=reason),
    refusal=BackupError,
)
PIN = Verb(
    word="pin",
    label="Pin",
    explanation="No plan deletes the archive before the day you choose.",
    permission="backups.pin_backuprun",
    done="it is pinned.",
    do=lambda row, actor, reason, until: officers.pin(row, until=until, actor=actor, reason=reason),
    refusal=BackupError,
    form=PinForm,
)
UNPIN = Verb(
    word="unpin",
    label="Unpin",
    explanation="The plan of its schedule decides about the archive again: it may be deleted.",
    permission="backups.pin_backuprun",
    done="it is not pinned any more.",
    do=lambda row, actor, reason: officers.unpin(row, actor=actor, reason=reason),
    refusal=BackupError,
)
REMOVE = Verb(
    word="remove",
    label="Delete",
    explanation=(
        "The archive, which is not sound, is deleted at the target, to free its room. Nothing brings it back; what"
        " could still be read of it is lost as well. Type its name."
    ),
    permission="backups.remove_backuprun",
    done="a job deletes it.",
    do=lambda row, actor, reason: officers.remove(row, actor=actor, reason=reason),
    refusal=BackupError,
    typed=lambda row: row.archive,
)
DANGERS = (CANCEL, REPLACE, REMOVE)
VERBS = {
    each.word: each
    for each in (CANCEL, VERIFY, PIN, UNPIN, INSPECT, MERGE, REPLACE, NEW_TENANT, REMOVE)
}


def fitting(run: BackupRun) -> list[Verb]:
    """The verbs that make sense for this run."""
    possible: list[Verb] = []
    if run.state == BackupRun.State.RUNNING:
        possible.append(CANCEL)
    if is_whole(run):
        possible += [VERIFY, PIN, *([UNPIN] if run.pinned_until else [])]
        possible += [INSPECT] if run.content == Content.ROWS else []
        possible += [MERGE, REPLACE, NEW_TENANT] if run.tenant else []
        possible += [REMOVE] if run.findings else []
    return possible
