"""Whether the rows of an archive can be here a second time, as those of a tenant that is new."""

from collections.abc import Sequence
from typing import Any

from django.contrib.contenttypes.fields import GenericForeignKey
from django.db import transaction
from django.db.models import Model

from backups.data.load import LoadRefused
from backups.data.tables import Table
from backups.errors import RestoreRefused
from backups.restoring.batch import types_of, write
from backups.restoring.load import rule_of
from backups.restoring.new_keys import is_uuid, sequence_of, target_of_key
from backups.restoring.reading import batches, rows
from backups.restoring.steps import Part, parts_of
from backups.restoring.translate import tenant_column, translated
from backups.restoring.work import Work


def refuse_used(using: str, chosen: Sequence[Table], tenant: str) -> None:
    """Raise ``RestoreRefused`` when somebody has this name already, or when it is too long for a column."""
    for table in chosen:
        own = table.own_of(tenant)
        if own is None:
            continue
        _refuse_long(table, tenant)
        if table.model._base_manager.using(using).filter(own).exists():
            raise RestoreRefused(
                f"There are rows of {table.label} of a tenant {tenant!r}: expected a name that no row has."
            )


def refuse_unmappable(work: Work) -> None:
    """Raise ``RestoreRefused`` for rows that cannot get new keys. Nothing is written."""
    counts = work.archive.manifest.counts
    for part in parts_of(work.steps):
        if not counts[part.table.label] or part.table.own_of(work.tenant) is None:
            continue
        if why := _unmappable(work, part.table):
            raise RestoreRefused(f"Rows of {part.table.label} cannot be here a second time: {why}.")


def refuse_clash(work: Work) -> None:
    """Write every batch in a transaction that is rolled back, when keys have been given.

    Raises ``RestoreRefused`` for what is unique over all tenants and here already.
    """
    for part in parts_of(work.steps):
        for batch in batches(rows(work.archive, part.table)):
            work.job.checkpoint()
            with transaction.atomic(using=work.job.using):
                _try(work, part, translated(work, part, batch))
                transaction.set_rollback(True, using=work.job.using)


def _refuse_long(table: Table, tenant: str) -> None:
    if (column := tenant_column(table)) is None:
        return
    field = next(each for each in table.model._meta.local_concrete_fields if each.column == column)
    longest = getattr(field, "max_length", None)
    if longest is not None and len(tenant) > longest:
        raise RestoreRefused(
            f"{table.label} holds tenants of up to {longest} letters, got {len(tenant)}."
        )


def _unmappable(work: Work, table: Table) -> str:
    model: type[Model] = table.model
    if len(model._meta.pk_fields) > 1:
        return "their key has several columns"
    if any(isinstance(each, GenericForeignKey) for each in model._meta.private_fields):
        return "they refer to rows of any model"
    if _is_the_tenant(table):
        return "their key is the tenant itself"
    if target_of_key(table) is None and not is_uuid(work, table) and not sequence_of(work, table):
        return "their key is neither a UUID nor a number of a sequence"
    shared: Any = table.declared.shared_without
    if shared and shared.partition("__")[0] not in {
        each.name for each in model._meta.local_concrete_fields
    }:
        return "whether they are shared is not told by a reference of theirs"
    return ""


def _is_the_tenant(table: Table) -> bool:
    names = {"pk", *(field.name for field in table.model._meta.pk_fields)}
    return table.declared.tenant in names


def _try(work: Work, part: Part, batch: Sequence[Any]) -> None:
    types = types_of(work.connection, part.table)
    work.settle()
    try:
        write(
            work.connection, part.table, types, batch, late=part.late, if_there=rule_of(work, part)
        )
    except LoadRefused as refused:
        raise RestoreRefused(
            f"A row of {part.table.label} cannot be here a second time; {refused}"
        ) from None
