"""The tables of an archive: their columns, whose rows they hold, and the order in which references allow them."""

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import FileField, ForeignKey, Model, Q

from backups.data.spec import Declared, SpecRefused, Specs


@dataclass(frozen=True, slots=True)
class Table:
    """A table that goes into archives, named after its model: ``shop.Order``, ``shop.Order_colours``."""

    label: str
    model: type[Model]
    columns: tuple[str, ...]
    references: frozenset[str]
    declared: Declared

    @property
    def name(self) -> str:
        """The table's name in the database, unquoted."""
        return self.model._meta.db_table

    @property
    def files(self) -> tuple[FileField, ...]:
        """The fields whose values name files that go along."""
        without = self.declared.redact.keys() | self.declared.files_left_out.keys()
        fields = (each for each in file_fields(self.model) if each.column not in without)
        return tuple(each for each in fields if each.column in self.columns)

    def rows_of(self, tenant: str) -> Q | None:
        """The condition for what belongs into an archive of this tenant: None for nothing, an empty ``Q`` for all."""
        if self.declared.shared:
            return Q()
        if self.declared.tenant is None:
            return None
        mine = Q(**{self.declared.tenant: tenant})
        without = self.declared.shared_without
        return mine | Q(**{f"{without}__isnull": True}) if without else mine

    def own_of(self, tenant: str) -> Q | None:
        """The condition for what belongs to this tenant and to nobody else; None for nothing."""
        if self.declared.shared or self.declared.tenant is None:
            return None
        return Q(**{self.declared.tenant: tenant})


def tables(specs: Specs) -> list[Table]:
    """The declared tables in the order in which they are written and loaded: what is referred to comes first.

    Tables that refer to each other in a circle stand together. The order is the same in every process. Raises
    ``SpecRefused`` for a declaration that does not fit its model, or that refers to what is left out.
    """
    found = {table.label: table for each in specs.declared.values() for table in _tables_of(each)}
    for table in found.values():
        _refuse_what_does_not_fit(table, found)
    return [found[label] for circle in circles(found) for label in circle]


def file_fields(model: type[Model]) -> list[FileField]:
    """The fields of the model's own table that name files."""
    return [each for each in model._meta.local_concrete_fields if isinstance(each, FileField)]


def circles(found: dict[str, Table]) -> list[tuple[str, ...]]:
    """The labels in order of references; those that reach each other are in one tuple."""
    reached = {label: _reached(label, found) for label in found}
    circle = {
        label: tuple(sorted({label, *(to for to in reached[label] if label in reached[to])}))
        for label in found
    }
    sorter: TopologicalSorter[tuple[str, ...]] = TopologicalSorter()
    for label in sorted(found):
        behind = sorted(circle[to] for to in reached[label] if circle[to] != circle[label])
        sorter.add(circle[label], *behind)
    return list(sorter.static_order())


def _reached(label: str, found: dict[str, Table]) -> set[str]:
    seen: set[str] = set()
    ahead = [label]
    while ahead:
        for to in found[ahead.pop()].references & found.keys():
            if to not in seen:
                seen.add(to)
                ahead.append(to)
    return seen


def _tables_of(declared: Declared) -> list[Table]:
    try:
        model = apps.get_model(declared.model)
    except (LookupError, ValueError):
        raise SpecRefused(f"{declared.model} is declared, but no installed model.") from None
    if model._meta.label != declared.model:
        raise SpecRefused(f"{declared.model} is declared; its name is {model._meta.label}.")
    if model._meta.proxy:
        of = model._meta.concrete_model._meta.label
        raise SpecRefused(f"{declared.model} is a proxy and has no rows: declare {of}.")
    return [_table(model, declared), *_many_to_many(model, declared)]


def _many_to_many(model: type[Model], declared: Declared) -> list[Table]:
    """The automatic tables: their rows belong to the tenant of the row that has the field."""
    made = []
    for field in model._meta.local_many_to_many:
        through = field.remote_field.through
        if through is not None and through._meta.auto_created:
            back = field.m2m_field_name()
            moved = Declared(
                model=through._meta.label,
                tenant=declared.tenant and f"{back}__{declared.tenant}",
                shared=declared.shared,
                shared_without=declared.shared_without and f"{back}__{declared.shared_without}",
                made_by_migrate=declared.made_by_migrate,
            )
            made.append(_table(through, moved))
    return made


def _table(model: type[Model], declared: Declared) -> Table:
    columns: list[str] = []
    references: set[str] = set()
    for field in model._meta.local_concrete_fields:
        assert field.column is not None  # it would not be concrete
        taken_out = declared.redact.get(field.column, "") is None
        if isinstance(field, ForeignKey) and not taken_out:
            target: Any = field.remote_field.model
            references.add(target._meta.concrete_model._meta.label)
        if not getattr(field, "generated", False) and field.column not in declared.stamped:
            columns.append(field.column)
    return Table(model._meta.label, model, tuple(columns), frozenset(references), declared)


def _refuse_what_does_not_fit(table: Table, found: dict[str, Table]) -> None:
    declared, model = table.declared, table.model
    unknown = declared.redact.keys() - set(table.columns)
    for column in sorted(unknown):
        raise SpecRefused(f"{table.label} has no column {column} to redact.")
    for column in declared.files_left_out.keys() - {each.column for each in file_fields(model)}:
        raise SpecRefused(f"{table.label} has no column {column} of files to leave out.")
    for column in sorted(declared.tenant_in.keys() - set(table.columns)):
        raise SpecRefused(f"{table.label} has no column {column} that could name the tenant.")
    keys = {field.column for field in model._meta.pk_fields}
    if declared.incremental and keys & declared.redact.keys():
        raise SpecRefused(f"{table.label} is incremental, so its key cannot be redacted.")
    if declared.incremental and '"' in table.name:
        raise SpecRefused(
            f"{table.label} is incremental, so its table must be in the usual schema."
        )
    for column in declared.stamped:
        if column not in {field.column for field in model._meta.local_concrete_fields}:
            raise SpecRefused(f"{table.label} has no column {column} that could be stamped.")
    if declared.shared and declared.tenant:
        raise SpecRefused(f"{table.label} is shared and has a tenant; it must be one of the two.")
    if declared.shared_without and not declared.tenant:
        raise SpecRefused(f"{table.label} names shared_without, which needs a tenant.")
    for to in sorted(table.references - found.keys()):
        raise SpecRefused(f"{table.label} refers to {to}, which is not in archives.")
    try:
        condition = table.rows_of("")
        if condition:
            model._base_manager.filter(condition)
    except (FieldError, FieldDoesNotExist, ValueError):
        raise SpecRefused(f"{table.label}: {declared.tenant} leads to no tenant.") from None
