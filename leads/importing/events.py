"""Events from a file: code, name, type and time zone. What is there already stays as it is."""

import csv
import io
from typing import BinaryIO

from django.core.exceptions import ValidationError
from django.db import transaction

from leads.errors import ImportRefused
from leads.importing.columns import read_header
from leads.models import Event, EventType

COLUMNS = ("code", "name", "type", "time_zone")
SIZE_LIMIT = 5 * 1024 * 1024


@transaction.atomic
def import_events(file: BinaryIO, *, tenant: str | None = None) -> int:
    """Create the events that are not there yet; answers how many. Raises ``ImportRefused``, all or nothing."""
    read = file.read(SIZE_LIMIT + 1)
    if len(read) > SIZE_LIMIT:
        raise ImportRefused(f"Expected a file of events of at most {SIZE_LIMIT} bytes.")
    try:
        text = read.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ImportRefused("Expected events in UTF-8; save the file as UTF-8.") from None
    head = text.split("\n", 1)[0].rstrip("\r")
    layout = read_header(head, required=COLUMNS)
    known = set(Event.objects.filter(tenant_id=tenant).values_list("code", flat=True))
    types = {each.name: each for each in EventType.objects.all()}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter)
    next(reader)
    created = 0
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(layout.names):
            raise ImportRefused(f"Line {reader.line_num}: expected {len(layout.names)} fields.")
        row = dict(zip(layout.names, (cell.strip() for cell in cells), strict=True))
        if row["code"] in known:
            continue
        _create(row, tenant, types, reader.line_num)
        known.add(row["code"])
        created += 1
    return created


def _create(
    row: dict[str, str], tenant: str | None, types: dict[str, EventType], line: int
) -> None:
    kind = None
    if row["type"]:
        if row["type"] not in types:
            types[row["type"]] = EventType.objects.create(name=row["type"][:100])
        kind = types[row["type"]]
    event = Event(
        code=row["code"], name=row["name"], type=kind, time_zone=row["time_zone"], tenant_id=tenant
    )
    try:
        event.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as refused:
        columns = ", ".join(sorted(refused.message_dict))
        raise ImportRefused(f"Line {line}: {columns} cannot be used; correct it.") from None
    event.save()
