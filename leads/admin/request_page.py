"""What the page of one lead request shows."""

from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.html import format_html

from hubqueue.admin import cells
from leads.admin.standing import counts, is_due, is_walked, pill, place, sentences
from leads.models import LeadRequest


def described(row: LeadRequest, now: datetime, *, armed: bool) -> dict[str, Any]:
    """The template's context; ``changing`` = a walk is on or due, so the page looks again by itself."""
    moving = is_walked(row, now)
    return {
        "request_row": row,
        "title": f"Leads of {row.event}",
        "pill": pill(row, now, armed=armed),
        "sentences": sentences(row, now, armed=armed),
        "moving": moving,
        "changing": moving or is_due(row, now, armed=armed),
        "place": place(row),
        "walk_title": "This walk so far" if moving else "The last walk",
        "counts": counts(row),
        "facts": _facts(row, now),
    }


def _facts(row: LeadRequest, now: datetime) -> list[tuple[str, object]]:
    event = reverse("admin:leads_event_change", args=[row.event_id])
    return [
        ("event", format_html('<a href="{}">{}</a>', event, row.event)),
        ("last walk began", cells.when(row.attempted_at, now)),
        ("made", _when_and_who(row.created_at, row.created_by, now)),
        ("last changed", _when_and_who(row.updated_at, row.updated_by, now)),
    ]


def _when_and_who(moment: datetime, who: str, now: datetime) -> object:
    said = cells.when(moment, now)
    return format_html("{} by {}", said, who.removeprefix("run by ")) if who else said
