"""The officers' verbs in words, with the permission each needs and what is asked before it is done."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django import forms
from django.core.validators import ProhibitNullCharactersValidator

from hubqueue import officers
from hubqueue.admin.viewer import Viewer
from hubqueue.lifecycle.redrive import Answer
from hubqueue.models import Job
from hubqueue.states import Move, State, allowed

AT_ONCE = timedelta(seconds=15)
MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb. ``word`` is in the address and in the name of its permission."""

    move: Move
    word: str
    label: str
    explanation: str
    danger: bool = False

    @property
    def permission(self) -> str:
        return f"hubqueue.{self.word}_job"


VERBS = {
    verb.word: verb
    for verb in (
        Verb(
            Move.PARK,
            "park",
            "Park",
            "It does not run until somebody releases it. A running job is asked to stop.",
        ),
        Verb(
            Move.RELEASE,
            "release",
            "Release",
            "It goes back to where it was: it runs at its own moment.",
        ),
        Verb(
            Move.RUN_NOW,
            "run_now",
            "Run now",
            "It becomes due now, whatever moment it was waiting for.",
        ),
        Verb(
            Move.CANCEL,
            "cancel",
            "Cancel",
            "It never runs. A running job is asked to stop.",
            danger=True,
        ),
        Verb(Move.REDRIVE, "redrive", "Redrive", "It is tried again now, with all its attempts."),
        Verb(
            Move.DISMISS,
            "dismiss",
            "Dismiss",
            "It is put away as cancelled: nobody needs to look at it again.",
            danger=True,
        ),
    )
}


class ReasonForm(forms.Form):
    """Why. It is kept in the log with the name of who did it."""

    reason = forms.CharField(
        max_length=200,
        validators=[ProhibitNullCharactersValidator()],
        widget=forms.TextInput(attrs={"size": 60, "autofocus": True, "class": "vTextField"}),
        help_text="Kept in the log together with your name.",
    )


def fitting(job: Job, user: Viewer) -> list[Verb]:
    """The verbs that this job's state allows and this user may do."""
    state = State(job.state)
    return [
        verb
        for verb in VERBS.values()
        if allowed(state, verb.move) and user.has_perm(verb.permission)
    ]


@dataclass(slots=True)
class Outcome:
    """What became of many rows: counts, and the first rows one by one. ``last`` is where time ran out."""

    done: int = 0
    refused: int = 0
    shown: list[Answer] = field(default_factory=list)
    last: UUID | None = None

    def add(self, answer: Answer) -> None:
        if answer.state is None:
            self.refused += 1
        else:
            self.done += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(answer)


def do(
    verb: Verb, job_ids: Iterable[UUID], *, actor: str, reason: str, time_left: timedelta = AT_ONCE
) -> Outcome:
    """Do the verb row by row until the ids or the time run out; ``Outcome.last`` is set in the second case."""
    outcome = Outcome()
    deadline = time.monotonic() + time_left.total_seconds()
    for answer in _answers(verb, job_ids, actor, reason):
        outcome.add(answer)
        if time.monotonic() > deadline:
            outcome.last = answer.job_id
            break
    return outcome


def _answers(verb: Verb, job_ids: Iterable[UUID], actor: str, reason: str) -> Iterator[Answer]:
    if verb.move == Move.REDRIVE:
        return officers.redrive_many(job_ids, actor=actor, reason=reason)
    return officers.each(verb.move, job_ids, actor=actor, reason=reason)
