"""How a lead request stands, in an officer's words."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.html import format_html
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from leads.models import LeadRequest
from leads.models.requests import LEASE

# What a code means for somebody who is no engineer, and who can help.
MEANINGS = {
    "leads.sink_not_wired": "No CRM is connected to this installation: its operator has to set one.",
    "leads.sink_refused": "The CRM refused a lead: somebody who knows it can tell why.",
    "leads.sink_answer_refused": "The CRM answered something unexpected: tell its operator.",
    "leads.sink_unreachable": "The CRM could not be reached. This often passes by itself.",
    "leads.sink_address_refused": "The address of the CRM is not allowed: tell the operator.",
    "leads.failed": "Something is wrong in the program: tell the operator.",
}
COUNTS = {
    "matched": "new registrations taken",
    "leads_created": "leads made",
    "leads_updated": "times a lead grew",
    "refused": "groups refused",
}
_REGULAR = "leads.generate "
_ASKED = "run by "


@dataclass(frozen=True, slots=True)
class Standing:
    """``look`` names its colour."""

    word: str
    look: str


def standing(row: LeadRequest, now: datetime, *, armed: bool) -> Standing:
    """One word for the request; a lease that has passed is told apart from a walk."""
    if row.parked_at is not None:
        return Standing("Parked", "parked")
    if row.claimed_at is not None:
        return Standing("Being walked", "running") if is_walked(row, now) else _STUCK
    if row.error_detail:
        return Standing("Failed", "retry")
    return Standing("Done", "succeeded") if row.done and not armed else Standing("Open", "due")


_STUCK = Standing("Walk was lost", "retry")


def is_walked(row: LeadRequest, now: datetime) -> bool:
    """Whether somebody holds a lease that has not passed."""
    return row.claimed_at is not None and row.claimed_at > now - LEASE


def is_due(row: LeadRequest, now: datetime, *, armed: bool) -> bool:
    """Whether the next pass takes it."""
    waits = row.next_attempt_at is not None and row.next_attempt_at > now
    return row.parked_at is None and not waits and (armed or not row.done)


def pill(row: LeadRequest, now: datetime, *, armed: bool) -> SafeString:
    """The word as a coloured tag."""
    shown = standing(row, now, armed=armed)
    return cells.tag(shown.word, shown.look)


def sentences(row: LeadRequest, now: datetime, *, armed: bool) -> list[SafeString | str]:
    """Why the request stands as it does and what happens next."""
    said = [*_now(row, now), *_failure(row, now)]
    if armed and row.attempted_at is not None:
        said.append("Something changed since the last walk began; the next one looks at it.")
    if not said and row.done:
        said.append("Nothing is open: every registration was looked at.")
    if not said:
        said.append("It waits for the next pass, which comes by itself.")
    return said


def walker(row: LeadRequest) -> SafeString | str:
    """Who walks, with a link to the job when it is the regular pass."""
    if row.claimed_by.startswith(_ASKED):
        return f"the run that {row.claimed_by.removeprefix(_ASKED)} asked for"
    try:
        job_id = UUID(row.claimed_by.removeprefix(_REGULAR))
    except ValueError:
        return row.claimed_by or "somebody"
    return format_html("the regular pass (job {})", cells.job_link(job_id))


def counts(row: LeadRequest) -> list[tuple[str, int]]:
    """What the last walk did, in words and numbers."""
    return [(words, row.progress[name]) for name, words in COUNTS.items() if name in row.progress]


def place(row: LeadRequest) -> str:
    """Where the walk is among the rules: ``rule 2 of 5``."""
    if not row.progress.get("rules"):
        return ""
    return f"rule {row.progress.get('rule', 0)} of {row.progress['rules']}"


def _now(row: LeadRequest, now: datetime) -> list[SafeString | str]:
    if row.parked_at is not None:
        said = 'Parked {}: "{}". No leads of this event are made until somebody releases it.'
        return [format_html(said, cells.when(row.parked_at, now), row.park_reason)]
    if row.claimed_at is None:
        return []
    heard = cells.when(row.claimed_at, now)
    if is_walked(row, now):
        return [format_html("It is being walked by {}, last heard of {}.", walker(row), heard)]
    said = "The walk of {} was last heard of {} and is taken for lost; the next pass takes over."
    return [format_html(said, walker(row), heard)]


def _failure(row: LeadRequest, now: datetime) -> list[SafeString | str]:
    if not row.error_detail:
        return []
    times = "once" if row.failures == 1 else f"{row.failures} times in a row"
    said: list[SafeString | str] = [
        format_html("The last walk failed ({}): {}", times, row.error_detail)
    ]
    meaning = MEANINGS.get(row.error_detail.partition(":")[0])
    if meaning is not None:
        said.append(meaning)
    if row.next_attempt_at is not None and row.parked_at is None and row.claimed_at is None:
        said.append(format_html("It is tried again {}.", cells.when(row.next_attempt_at, now)))
    return said
