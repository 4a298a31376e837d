"""Keys of rows that a restore has to know again: the tenant's rows which no lookup finds, and what it wrote itself."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat

from backups.data.load import LoadRefused
from backups.data.tables import Table
from backups.models import BackupRestore, RestoreKey
from backups.restoring.batch import key_of
from backups.restoring.reading import BATCH, Row


def note(restore: BackupRestore, label: str, keys: Iterable[str]) -> None:
    """Keep these keys with the restore, in the caller's transaction."""
    rows = (RestoreKey(restore=restore, label=label, key=key) for key in keys)
    RestoreKey.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def noted(restore: BackupRestore, label: str) -> "QuerySet[RestoreKey]":
    """What is kept with the restore of a table."""
    return RestoreKey.objects.filter(restore=restore, label=label)


def left_behind(restore: BackupRestore) -> "QuerySet[RestoreKey]":
    """What restores of the tenant that were broken off wrote."""
    notes = RestoreKey.objects.filter(restore__tenant=restore.tenant)
    return notes.exclude(restore__state=BackupRestore.State.RUNNING)


def adopt(restore: BackupRestore, label: str) -> None:
    """Keep with this restore what those wrote of a table, in the caller's transaction."""
    keys = left_behind(restore).filter(label=label).values_list("key", flat=True)
    note(restore, label, keys.iterator(chunk_size=BATCH))


def key_of_row(table: Table, row: Row) -> str:
    """The key of an archive's row."""
    return _text(row[column] for column in key_of(table))


def key_of_value(value: Any) -> str:
    """That of a row of the database, by its primary key; of several columns, a tuple."""
    return _text(map(str, value) if isinstance(value, tuple) else [str(value)])


def values(table: Table, notes: Sequence[RestoreKey]) -> list[Any]:
    """The primary keys that are noted."""
    return [read(table, json.loads(each.key)) for each in notes]


def read(table: Table, texts: Iterable[str | None]) -> Any:
    """The primary key of these texts, a tuple for several columns. Raises ``LoadRefused`` for what is none."""
    fields = table.model._meta.pk_fields
    try:
        key = tuple(field.to_python(text) for field, text in zip(fields, texts, strict=True))
    except ValidationError:
        raise LoadRefused(f"{table.label}: a row has a key that its columns cannot hold.") from None
    return key if len(key) > 1 else key[0]


def without(rows: Any, notes: "QuerySet[RestoreKey]") -> Any:
    """The rows of a query that are not among the notes."""
    text = TextField()
    columns = [Cast(field.attname, text) for field in rows.model._meta.pk_fields]
    between: list[Any] = [each for column in columns for each in (Value('", "'), column)][1:]
    key = Concat(Value('["'), *between, Value('"]'), output_field=text)
    return rows.annotate(_noted_as=key).exclude(_noted_as__in=notes.values("key"))


def _text(texts: Iterable[str | None]) -> str:
    return json.dumps(list(texts))
