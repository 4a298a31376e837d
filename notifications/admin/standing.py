"""How a message stands, in an officer's words."""

from collections.abc import Iterator
from datetime import datetime

from django.utils.safestring import SafeString

from hubqueue.admin import cells
from hubqueue.models import Job
from hubqueue.states import State as JobState
from hubqueue.why import reasons
from notifications.categories import category
from notifications.errors import CategoryUnknown
from notifications.models import Notification
from notifications.reasons import SENTENCES, Reason

State = Notification.State
# The word for a state, and its colour on the queue's pages.
WORDS = {
    State.PENDING: ("Waiting", "due"),
    State.UNCERTAIN: ("Uncertain", "parked"),
    State.FAILED: ("Failed", "dead"),
    State.SUPPRESSED: ("Held back", "cancelled"),
    State.SENT: ("Sent", "succeeded"),
    State.HELD: ("On hold", "parked"),
}
ARRIVED = "One attempt was cut off before the mail server's answer came: it may have arrived all the same."
TWICE = "An earlier attempt was cut off before the mail server's answer came: it may have arrived twice."


def pill(row: Notification) -> SafeString:
    word, look = WORDS[State(row.state)]
    return cells.tag(word, look)


def kind_of(row: Notification) -> str:
    """The label of the category; its bare name once no application knows it."""
    try:
        return str(category(row.category).label)
    except CategoryUnknown:
        return row.category


def sentence(reason: str) -> str:
    """Why a message was not sent. A code of an older release stands for itself."""
    return SENTENCES[Reason(reason)] if reason in set(Reason) else reason


def sentences(row: Notification, job: Job | None, now: datetime) -> list[str]:
    """What became of it and what comes next. ``job`` is the one that is to deliver it, when there is one."""
    return [*_became(row, job, now), *_next(row, job)]


def _became(row: Notification, job: Job | None, now: datetime) -> Iterator[str]:
    match State(row.state):
        case State.PENDING:
            yield "It was not sent yet."
        case State.SENT:
            ago = "" if row.finished_at is None else f" {cells.relative(row.finished_at - now)}"
            yield f"The mail server took it{ago}."
            if row.uncertain_since is not None:
                yield TWICE
        case State.UNCERTAIN:
            yield (
                "It was on its way when the connection broke, before the mail server's answer came:"
                " it may have arrived."
            )
            if job is None:
                yield "It is not sent again by itself: send it again, or leave it."
            else:
                yield "It is sent again, so it may arrive twice."
        case State.SUPPRESSED:
            yield f"It was held back. {sentence(row.reason)}"
            if row.uncertain_since is not None:
                yield ARRIVED
        case State.HELD:
            yield (
                "It waited when the archive was made that this installation comes from. The original may"
                " have sent it since."
            )
            if row.uncertain_since is not None:
                yield ARRIVED
            yield "Nothing sends it until somebody releases it."
        case State.FAILED:
            yield f"It was not sent, and is not tried again by itself. {sentence(row.reason)}"
            if row.uncertain_since is not None:
                yield ARRIVED


def _next(row: Notification, job: Job | None) -> Iterator[str]:
    if row.state not in (State.PENDING, State.UNCERTAIN):
        return
    if job is None:
        if row.state == State.PENDING:
            yield "No job is there any more that would send it: send it again."
        return
    if job.state == JobState.RUNNING:
        yield "It is being sent at this moment."
        return
    yield from (f"Its job: {each.sentence}" for each in reasons(job))
