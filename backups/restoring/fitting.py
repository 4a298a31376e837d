"""Whether the rows of an archive can come into the database as it is. Nothing here writes what stays."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import transaction
from django.db.models import ForeignKey, Q

from backups.archive.read import Archive
from backups.data.tables import Table
from backups.errors import RestoreRefused, RowsMissing
from backups.models import BackupRestore
from backups.restoring.batch import check_references, key_of, types_of, write
from backups.restoring.notes import left_behind, read, without
from backups.restoring.outside import Outsider, outsiders
from backups.restoring.reading import Row, batches, rows
from backups.restoring.steps import (
    Part,
    Reference,
    is_found_by_others,
    leads_to_a_tenant,
    parts_of,
)
from backups.restoring.work import Work

THERE = """
SELECT count(*) FROM unnest(%s::text[]) AS given (value)
WHERE NOT EXISTS (SELECT FROM {table} AS row WHERE row.{column} = given.value::{type})
"""


def refuse_misfit(work: Work) -> None:
    """Read all rows of the chain, and raise before one is written what would be raised later.

    ``ArchiveError`` for a byte that is not what was written, ``RestoreRefused`` or ``LoadRefused`` for a misfit.

    What a tenant's archive does not hold but refers to, users for one, must be here; no row of the archive may have
    the key of a row of another tenant's; shared rows must be here, or fit in; and with REPLACE nobody else may refer to
    rows that go. Everything is looked at in transactions of a batch each; INSPECT's can only read.
    """
    if work.restore.mode == BackupRestore.Mode.REPLACE:
        _refuse_referred(work)
    for archive in work.chain[:-1]:
        _read(work, archive)
    for part in parts_of(work.steps):
        _read_gone(work, work.archive, part.table)
        for batch in batches(rows(work.archive, part.table)):
            work.job.checkpoint()
            with transaction.atomic(using=work.job.using):
                _prepare(work)
                _refuse_missing(work, part, batch)
                if work.restore.mode != BackupRestore.Mode.NEW_TENANT:
                    _refuse_strangers(work, part.table, batch)
                if part.table.declared.shared and work.restore.mode != BackupRestore.Mode.INSPECT:
                    _try(work, part.table, batch)
                transaction.set_rollback(True, using=work.job.using)


def _read(work: Work, archive: Archive) -> None:
    """An archive that another one goes on from: all of it can be read."""
    for part in parts_of(work.steps):
        _read_gone(work, archive, part.table)
        for _ in batches(rows(archive, part.table)):
            work.job.checkpoint()


def _read_gone(work: Work, archive: Archive, table: Table) -> None:
    for _ in archive.gone(table.label) or ():
        work.job.checkpoint()


def _prepare(work: Work) -> None:
    if work.restore.mode == BackupRestore.Mode.INSPECT:
        with work.connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
    work.settle()


def _refuse_missing(work: Work, part: Part, batch: Sequence[Row]) -> None:
    if work.restore.tenant is None:
        return  # an archive of everything holds all that its rows refer to
    for reference in part.references:
        table = _table(work, reference.label)
        if table.declared.shared or table.declared.tenant is not None:
            continue  # a tenant's archive holds it
        values = {row[reference.own_column] for row in batch} - {None}
        missing = _missing(work, table, reference, sorted(filter(None, values)))
        if missing:
            raise RowsMissing(
                f"Rows of {part.table.label} refer by {reference.own_column} to {missing} rows of"
                f" {table.label} that are not here and that a tenant's archive does not hold:"
                " make them again under the same keys, or restore the whole installation."
            )


def _missing(work: Work, table: Table, reference: Reference, values: list[str]) -> int:
    if not values:
        return 0
    quote = work.connection.ops.quote_name
    statement = THERE.format(
        table=quote(table.name),
        column=quote(reference.column),
        type=types_of(work.connection, table)[reference.column],
    )
    with work.connection.cursor() as cursor:
        cursor.execute(statement, [values])
        return int(cursor.fetchone()[0])


def _refuse_strangers(work: Work, table: Table, batch: Sequence[Row]) -> None:
    """Rows that may be shared are passed over: they are left as they are."""
    own = _own(work, table)
    if own is None or table.declared.shared_without:
        return
    keys = [read(table, [row[column] for column in key_of(table)]) for row in batch]
    there = _rows(work, table).filter(pk__in=keys)
    strange = there.exclude(pk__in=_rows(work, table).filter(own, pk__in=keys).values("pk"))
    if is_found_by_others(table):
        strange = strange.filter(leads_to_a_tenant(table))  # else it is one that was left by all
    if without(strange, left_behind(work.restore).filter(label=table.label)).exists():
        raise RestoreRefused(
            f"Rows of {table.label} in the archive have the keys of rows here that are not the tenant's:"
            " they would be taken from another."
        )


def _try(work: Work, table: Table, batch: Sequence[Row]) -> None:
    """Shared rows that are missing must fit in; the transaction is rolled back."""
    types = types_of(work.connection, table)
    write(work.connection, table, types, batch, if_there=BackupRestore.IfThere.SKIP)
    check_references(work.connection, table)


def _refuse_referred(work: Work) -> None:
    """Rows that stay must not refer to rows that go."""
    for table in work.chosen:
        own = _own(work, table)
        if own is None:
            continue
        going = _rows(work, table).filter(own)
        for label, field, staying in _referring(work, table):
            values = going.values(field.target_field.attname)
            if staying.filter(**{f"{field.attname}__in": values}).exists():
                raise RestoreRefused(
                    f"Rows of {label}, which stay, refer to rows of {table.label} that would be replaced."
                )
        for outsider in outsiders(table, work.chosen):
            _refuse_protected(work, outsider, going)


def _referring(work: Work, table: Table) -> Iterator[tuple[str, Any, Any]]:
    """Each reference to the table: the label and the field, and the rows that have it and stay."""
    for other in work.chosen:
        own = _own(work, other)
        for field in other.model._meta.local_concrete_fields:
            if isinstance(field, ForeignKey) and field.remote_field.model is table.model:
                staying = _rows(work, other)
                if own is not None:
                    staying = staying.exclude(pk__in=_rows(work, other).filter(own).values("pk"))
                if is_found_by_others(other):
                    # What was left by all goes with what it refers to.
                    staying = staying.filter(leads_to_a_tenant(other))
                    staying = without(staying, left_behind(work.restore).filter(label=other.label))
                yield other.label, field, staying


def _refuse_protected(work: Work, outsider: Outsider, going: Any) -> None:
    if outsider.goes_along or outsider.forgets:
        return
    if outsider.rows(work.job.using, going.values(outsider.target)).exists():
        raise RestoreRefused(
            f"Rows of {outsider.label}, which are not in archives, refer to rows that would be replaced."
        )


def _own(work: Work, table: Table) -> Q | None:
    return None if work.restore.tenant is None else table.own_of(work.restore.tenant)


def _rows(work: Work, table: Table) -> Any:
    return table.model._base_manager.using(work.job.using).order_by()


def _table(work: Work, label: str) -> Table:
    return next(table for table in work.chosen if table.label == label)
