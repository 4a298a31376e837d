"""One record to one registration, or to the reason why not."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

from leads.importing.columns import Layout
from leads.importing.lines import Record
from leads.models import Event

STATES = ("draft", "open", "done", "cancelled")
LENGTHS = {"name": 200, "email": 254, "phone": 50, "company": 200, "sale_order": 64}
ANSWER_LENGTH = 200
EARLIEST, LATEST = 2000, 2100

_check_email = EmailValidator()


@dataclass(frozen=True, slots=True)
class Row:
    """A good record."""

    line: int
    event: Event
    name: str
    email: str
    phone: str
    company_name: str
    sale_order_id: str
    state: str
    created_at: datetime
    answers: tuple[tuple[str, str], ...]
    key: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that is not imported. ``reason`` names columns, never what stood in them."""

    line: int
    code: str
    reason: str


class _Bad(Exception):
    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        self.reason = reason


def read_row(record: Record, layout: Layout, events: Mapping[str, Event]) -> Row | Problem:
    """The registration a record stands for."""
    try:
        return _read(record, layout, events)
    except _Bad as bad:
        return Problem(record.line, bad.code, bad.reason)


def _read(record: Record, layout: Layout, events: Mapping[str, Event]) -> Row:
    cells = _fit(record, layout)
    for name, longest in LENGTHS.items():
        if len(cells[name]) > longest:
            raise _Bad(
                "too_long",
                f"{name} has {len(cells[name])} characters, at most {longest} are allowed",
            )
    email, phone = _email(cells["email"]), cells["phone"]
    if not email and not phone:
        raise _Bad("unreachable", "neither email nor phone is given: the person cannot be reached")
    if not cells["name"]:
        raise _Bad("no_name", "name is empty")
    event = _event(cells["event"], events)
    created_at = _moment(cells["registered_at"])
    sale_order = cells["sale_order"]
    return Row(
        line=record.line,
        event=event,
        name=cells["name"],
        email=email,
        phone=phone,
        company_name=cells["company"],
        sale_order_id=sale_order,
        state=_state(cells["state"]),
        created_at=created_at,
        answers=_answers(cells, layout),
        key=_key(email, phone, cells["name"], sale_order, created_at),
    )


def _fit(record: Record, layout: Layout) -> dict[str, str]:
    """The cells by column, trimmed; white space inside a name becomes single spaces."""
    if record.problem is not None:
        raise _Bad("malformed", f"the record {record.problem}")
    cells = record.cells
    if not any(cell.strip() for cell in cells):
        raise _Bad("empty", "the record is empty")
    if any("\x00" in cell for cell in cells):
        raise _Bad("nul", "the record holds a NUL character")
    if any("\udc80" <= character <= "\udcff" for cell in cells for character in cell):
        raise _Bad("not_utf8", "the record is not valid UTF-8")
    expected = len(layout.names)
    if len(cells) != expected:
        kind = "short" if len(cells) < expected else "long"
        raise _Bad(f"too_{kind}_row", f"{len(cells)} fields instead of {expected}")
    found = {}
    for name, cell in zip(layout.names, cells, strict=True):
        text = cell.strip()
        if name != "name" and any(character < " " for character in text):
            raise _Bad(
                "control_character", f"{_shown(name, layout)} holds a line end or control character"
            )
        found[name] = " ".join(text.split()) if name == "name" else text
    if any(not character.isprintable() and character != "\u200d" for character in found["name"]):
        raise _Bad("control_character", "name holds a control character")
    return found


def _shown(name: str, layout: Layout) -> str:
    return f"column {layout.names.index(name) + 1}" if name in layout.questions else name


def _email(text: str) -> str:
    if not text:
        return ""
    try:
        _check_email(text)
    except ValidationError:
        raise _Bad("email", "email is not an address") from None
    return text


def _event(code: str, events: Mapping[str, Event]) -> Event:
    if not code:
        raise _Bad("no_event", "event is empty")
    if code not in events:
        raise _Bad("unknown_event", "event is not the code of a known event")
    return events[code]


def _state(text: str) -> str:
    state = text.casefold()
    if state not in STATES:
        raise _Bad("state", f"state is not one of {', '.join(STATES)}")
    return state


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _Bad(
            "date", "registered_at is not a date and time such as 2026-05-31T09:30:00+02:00"
        ) from None
    if moment.tzinfo is None:
        raise _Bad("no_zone", "registered_at has no offset from UTC, such as +02:00")
    if not EARLIEST <= moment.year < LATEST:
        raise _Bad("absurd_date", f"registered_at is not between {EARLIEST} and {LATEST}")
    return moment


def _answers(cells: Mapping[str, str], layout: Layout) -> tuple[tuple[str, str], ...]:
    given = []
    for place, name in enumerate(layout.names, start=1):
        if name in layout.questions and cells[name]:
            if len(cells[name]) > ANSWER_LENGTH:
                raise _Bad("too_long", f"column {place} has more than {ANSWER_LENGTH} characters")
            given.append((name, cells[name]))
    return tuple(given)


def _key(email: str, phone: str, name: str, sale_order: str, created_at: datetime) -> str:
    """The same for the same person's same registration, however the file spells it."""
    digits = "".join(character for character in phone if character.isdigit()) or phone
    who = email.casefold() or digits
    said = [who, name.casefold(), sale_order, created_at.timestamp()]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
