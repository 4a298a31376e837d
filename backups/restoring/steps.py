"""The order in which tables are written, and which references have to wait for rows that come later."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import ForeignKey, Q
from django.db.models.fields.related import ForeignObjectRel

from backups.data.tables import Table, circles


@dataclass(frozen=True, slots=True)
class Reference:
    """A column that refers to ``column`` of the table ``label``."""

    field: "ForeignKey[Any, Any]"
    label: str
    column: str

    @property
    def own_column(self) -> str:
        assert self.field.column is not None
        return self.field.column


@dataclass(frozen=True, slots=True)
class Part:
    """A table. ``late`` are columns that are stored NULL and set when all rows are there."""

    table: Table
    references: tuple[Reference, ...]
    late: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """Tables that refer to each other in a circle, or one table.

    ``at_once``: a reference within cannot be NULL, so that all rows of the step are one transaction.
    """

    parts: tuple[Part, ...]
    at_once: bool


def steps(chosen: Sequence[Table], labels: Collection[str]) -> tuple[Step, ...]:
    """The steps for the tables of these labels; what is referred to comes first, what sets work going last.

    The same in every process.
    """
    found = {table.label: table for table in chosen if table.label in labels}
    made = [_step([found[label] for label in circle]) for circle in circles(found)]
    return tuple(sorted(made, key=lambda step: step.parts[0].table.declared.last))


def parts_of(given: Sequence[Step]) -> Iterator[Part]:
    """All tables of the steps in order."""
    for step in given:
        yield from step.parts


def references_of(table: Table) -> tuple[Reference, ...]:
    """The references of a table's rows that are in archives."""
    found = []
    for field in table.model._meta.local_concrete_fields:
        if isinstance(field, ForeignKey) and field.column in table.columns:
            if table.declared.redact.get(field.column, "") is None:
                continue
            target: Any = field.remote_field.model
            to: Any = field.target_field
            found.append(Reference(field, target._meta.concrete_model._meta.label, to.column))
    return tuple(found)


def is_found_by_others(table: Table) -> bool:
    """Whether the way from a row to its tenant leads over rows that refer to it."""
    model: Any = table.model
    for name in (table.declared.tenant or "").split("__"):
        if not name or name == "pk":
            return False
        field = model._meta.get_field(name)
        if isinstance(field, ForeignObjectRel) or field.many_to_many:
            return True
        if not field.is_relation:
            return False
        model = field.related_model
    return False


def leads_to_a_tenant(table: Table) -> Q:
    """The condition for rows of such a table that belong to any tenant: a group that its last member left does not."""
    return Q(**{f"{table.declared.tenant}__isnull": False})


def _way(table: Table) -> int:
    """How many references lead from a row to its tenant."""
    return (table.declared.tenant or "").count("__")


def _step(circle: Sequence[Table]) -> Step:
    """In a circle, what leads to the tenant of others comes before them."""
    circle = sorted(circle, key=lambda table: (_way(table), table.label))
    labels = [table.label for table in circle]
    late = {
        table.label: [each for each in references_of(table) if each.label in labels[place:]]
        for place, table in enumerate(circle)
    }
    at_once = any(not each.field.null for waiting in late.values() for each in waiting)
    return Step(
        tuple(
            Part(
                table,
                references_of(table),
                () if at_once else tuple(each.own_column for each in late[table.label]),
            )
            for table in circle
        ),
        at_once,
    )
