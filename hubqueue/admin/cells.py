"""How values look: states in words, moments relative to now, progress as a bar. Everything is escaped."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hubqueue.models import Job
from hubqueue.states import State

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a job stands, in an officer's words. ``look`` names its colour."""

    word: str
    look: str


def standing(job: Job, now: datetime) -> Standing:
    """READY is told apart into what it means: due, scheduled, or waiting to be tried again."""
    match State(job.state):
        case State.READY if job.run_at <= now:
            return Standing("Due", "due")
        case State.READY if job.attempts:
            return Standing("Waiting to retry", "retry")
        case State.READY:
            return Standing("Scheduled", "scheduled")
        case State.RUNNING if job.stop_requested:
            return Standing("Asked to stop", "running")
        case State.DEAD:
            return Standing("Dead letter", "dead")
        case state:
            return Standing(state.capitalize(), state.lower())


def pill(job: Job, now: datetime) -> SafeString:
    shown = standing(job, now)
    return format_html('<span class="hq-pill hq-{}">{}</span>', shown.look, shown.word)


def when(moment: datetime | None, now: datetime) -> SafeString | str:
    """A moment relative to now; the exact one is in the tooltip."""
    if moment is None:
        return NOTHING
    return format_html(
        '<time class="hq-time" datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        relative(moment - now),
    )


def relative(offset: timedelta) -> str:
    """``3 min ago``, ``in 2 h``, ``just now``."""
    seconds = offset.total_seconds()
    if abs(seconds) < 2:
        return "just now"
    text = span(abs(seconds))
    return f"in {text}" if seconds > 0 else f"{text} ago"


def span(seconds: float) -> str:
    """A length of time in a unit that keeps it short: s, min, h or days."""
    for least, size, word in ((172_800, 86_400, "days"), (5_400, 3_600, "h"), (90, 60, "min")):
        if seconds >= least:
            return f"{round(seconds / size)} {word}"
    return f"{round(seconds)} s"


def bar(share: float | None) -> SafeString | str:
    """Progress from 0 to 1."""
    if share is None:
        return NOTHING
    percent = round(share * 100)
    return format_html(
        '<span class="hq-progress"><progress max="100" value="{}"></progress> {}%</span>',
        percent,
        percent,
    )


def job_link(job_id: UUID, text: object | None = None) -> SafeString:
    address = reverse("admin:hubqueue_job_change", args=[job_id])
    return format_html('<a href="{}">{}</a>', address, text or short(job_id))


def short(job_id: UUID) -> str:
    """The last characters of an id: those that differ between jobs of the same moment."""
    return "…" + str(job_id)[-12:]


def tag(word: str, look: str) -> SafeString:
    return format_html('<span class="hq-pill hq-{}">{}</span>', look, word)
