"""New keys for the rows of an archive that come in a second time, kept with the restore before one is written."""

from collections.abc import Iterable, Sequence
from graphlib import TopologicalSorter
from typing import Any
from uuid import UUID, uuid4

from django.db.models import ForeignKey

from backups.data.tables import Table
from backups.models import NewKey
from backups.restoring.batch import key_of, types_of
from backups.restoring.reading import BATCH, Row, batches, rows
from backups.restoring.steps import Part, parts_of
from backups.restoring.work import Work

UUID_TYPE = "pg_catalog.uuid"

# (label, old key) -> new key
Known = dict[tuple[str, str], str]


def give_keys(work: Work) -> None:
    """Note a new key for every row of the tenant's own, a batch at a time. Who takes over goes on behind the last one.

    Raises ``LoadRefused``, ``ArchiveError``, ``TargetError``, ``StopRequested``, ``LeaseLost``.
    """
    parts = _with_keys(work)
    labels = [part.table.label for part in parts]
    start = labels.index(work.restore.label) if work.restore.label in labels else 0
    for part in parts[start:]:
        label = part.table.label
        done = work.restore.line if work.restore.label == label else 0
        for batch in batches(rows(work.archive, part.table), after=done):
            with work.batch():
                _note(work, part, batch)
                done += len(batch)
                work.moved(label=label, line=done)


def known(work: Work, values: Iterable[str | None]) -> Known:
    """The new keys of the rows, of whatever table, that have one of these keys."""
    wanted = sorted({value for value in values if value is not None})
    found = NewKey.objects.filter(restore=work.restore, old__in=wanted)
    return {(label, old): new for label, old, new in found.values_list("label", "old", "new")}


def is_own(table: Table, row: Row, keys: Known) -> bool:
    """Whether a row is the tenant's alone; ``keys`` must know the rows that it refers to."""
    declared = table.declared
    if declared.shared or declared.tenant is None:
        return False
    if declared.shared_without is None:
        return True
    name, _, rest = declared.shared_without.partition("__")
    field: Any = table.model._meta.get_field(name)
    value = row[field.column]
    if value is None or not rest:
        return value is not None
    return (field.remote_field.model._meta.concrete_model._meta.label, value) in keys


def sequence_of(work: Work, table: Table) -> str | None:
    """The sequence that the table's key of one column comes from."""
    (key,) = key_of(table)
    with work.connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_serial_sequence(%s, %s)",
            [work.connection.ops.quote_name(table.name), key],
        )
        found: str | None = cursor.fetchone()[0]
    return found


def is_uuid(work: Work, table: Table) -> bool:
    """Whether its key is one."""
    (key,) = key_of(table)
    return types_of(work.connection, table)[key] == UUID_TYPE


def target_of_key(table: Table) -> str | None:
    """The label of the table whose keys are its own as well, as with a one-to-one key."""
    field = table.model._meta.pk
    if not isinstance(field, ForeignKey):
        return None
    model: Any = field.remote_field.model
    return str(model._meta.concrete_model._meta.label)


def _with_keys(work: Work) -> list[Part]:
    """The tables with rows of the tenant's own; what a key is taken from, or told to be own by, comes before it."""
    parts = {part.table.label: part for part in parts_of(work.steps)}
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for label, part in parts.items():
        needed = {target_of_key(part.table), _told_by(part.table)} & parts.keys() - {label}
        sorter.add(label, *sorted(filter(None, needed)))
    ordered = [parts[label] for label in sorter.static_order()]
    return [part for part in ordered if part.table.own_of(work.tenant) is not None]


def _told_by(table: Table) -> str | None:
    """The label of the table that tells which rows of this one are shared."""
    name, _, rest = (table.declared.shared_without or "").partition("__")
    if not rest:
        return None
    field: Any = table.model._meta.get_field(name)
    return str(field.related_model._meta.concrete_model._meta.label)


def _note(work: Work, part: Part, batch: Sequence[Row]) -> None:
    keys = known(work, (row[each.own_column] for row in batch for each in part.references))
    (column,) = key_of(part.table)
    old = [row[column] or "" for row in batch if is_own(part.table, row, keys)]
    fresh = _fresh(work, part.table, old, keys)
    notes = (
        NewKey(restore=work.restore, label=part.table.label, old=before, new=after)
        for before, after in zip(old, fresh, strict=True)
    )
    NewKey.objects.bulk_create(notes, batch_size=BATCH)


def _fresh(work: Work, table: Table, old: Sequence[str], keys: Known) -> list[str]:
    target = target_of_key(table)
    if target is not None:
        return [keys.get((target, key), key) for key in old]
    if is_uuid(work, table):
        return [_fresh_uuid(key) for key in old]
    with work.connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(%s)::text FROM generate_series(1, %s)",
            [sequence_of(work, table), len(old)],
        )
        return [number for (number,) in cursor.fetchall()]


def _fresh_uuid(old: str) -> str:
    """A version 7 keeps its moment, by which rows are in order."""
    made, before = uuid4(), UUID(old)
    if before.version != 7:
        return str(made)
    return str(UUID(bytes=before.bytes[:8] + made.bytes[8:]))
