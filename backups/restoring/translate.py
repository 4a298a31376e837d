"""The rows of an archive as those of another tenant: their keys, what they refer to, and its name."""

import re
from collections.abc import Iterator, Sequence

from backups.data.load import LoadRefused
from backups.data.tables import Table, file_fields
from backups.models import BackupRestore
from backups.restoring.batch import key_of, types_of
from backups.restoring.new_keys import Known, is_own, known
from backups.restoring.reading import Row
from backups.restoring.steps import Part
from backups.restoring.work import Work

UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# As of `types_of`, which quotes those that are words of SQL.
TEXTS = frozenset(
    f"pg_catalog.{name}"
    for name in ("text", "varchar", "bpchar", "json", "jsonb", "uuid", "_text", "_varchar", "_uuid")
)


def translated(work: Work, part: Part, batch: Sequence[Row]) -> Sequence[Row]:
    """What is to be written of these rows: with NEW_TENANT another key, with all else as they are.

    Keys have been given. Shared rows stay as they are. In texts and JSON every UUID that is the key of a row of the
    archive becomes its new one. Raises ``LoadRefused`` for a reference to a row of the tenant's that the archive lacks.
    """
    if work.restore.mode != BackupRestore.Mode.NEW_TENANT or part.table.declared.shared:
        return batch
    texts = _texts(work, part)
    keys = known(work, _named(part, texts, batch))
    anywhere = {old: new for (_, old), new in keys.items() if UUIDS.fullmatch(old)}
    return [
        _translated(work, part, row, keys, texts, anywhere)
        if is_own(part.table, row, keys)
        else row
        for row in batch
    ]


def tenant_column(table: Table) -> str | None:
    """The column that holds the tenant's name, where it is one of the table's own: not of another that it extends."""
    own = {field.name: field for field in table.model._meta.local_concrete_fields}
    field = own.get(table.declared.tenant or "")
    return None if field is None or field.is_relation else str(field.column)


def _translated(
    work: Work, part: Part, row: Row, keys: Known, texts: Sequence[str], anywhere: dict[str, str]
) -> Row:
    new = dict(row)
    for column in texts:
        if value := row[column]:
            new[column] = UUIDS.sub(lambda found: anywhere.get(found[0], found[0]), value)
    for column, form in part.table.declared.tenant_in.items():
        new[column] = _renamed(work, new[column], form)
    for each in part.references:
        new[each.own_column] = _reference(
            work, part, each.label, each.column, row[each.own_column], keys
        )
    (key,) = key_of(part.table)
    new[key] = keys[part.table.label, row[key] or ""]
    if named := tenant_column(part.table):
        new[named] = work.tenant
    return new


def _renamed(work: Work, text: str | None, form: str) -> str | None:
    before = form.format(tenant=work.restore.run.tenant)
    if text is None or not text.startswith(before):
        return text
    return form.format(tenant=work.tenant) + text[len(before) :]


def _reference(
    work: Work, part: Part, label: str, column: str, value: str | None, keys: Known
) -> str | None:
    target = next(table for table in work.chosen if table.label == label)
    if value is None or key_of(target) != [column]:
        return value
    new = keys.get((label, value))
    declared = target.declared
    if new is None and declared.tenant and not declared.shared_without:
        raise LoadRefused(
            f"Rows of {part.table.label} refer to rows of {label} that the archive does not hold."
        )
    return new or value


def _texts(work: Work, part: Part) -> list[str]:
    types = types_of(work.connection, part.table)
    others = {each.own_column for each in part.references} | set(key_of(part.table))
    # A file stays where it is, under its name.
    others |= {each.column or "" for each in file_fields(part.table.model)}
    return [
        column
        for column in part.table.columns
        if types[column].replace('"', "") in TEXTS
        and column not in others
        and column != tenant_column(part.table)
    ]


def _named(part: Part, texts: Sequence[str], batch: Sequence[Row]) -> Iterator[str | None]:
    (key,) = key_of(part.table)
    for row in batch:
        yield row[key]
        for each in part.references:
            yield row[each.own_column]
        for column in texts:
            yield from UUIDS.findall(row[column] or "")
