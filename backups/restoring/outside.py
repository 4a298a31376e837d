"""Rows that are in no archive and refer to rows that are: what becomes of them when those go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import CASCADE, SET_NULL, ForeignKey, Model

from backups.data.tables import Table


@dataclass(frozen=True, slots=True)
class Outsider:
    """A reference from a model that is left out of archives to one that is in them."""

    model: type[Model]
    field: "ForeignKey[Any, Any]"

    @property
    def label(self) -> str:
        return self.model._meta.label

    @property
    def target(self) -> str:
        """The attribute of the row that is referred to."""
        return str(self.field.target_field.attname)

    @property
    def goes_along(self) -> bool:
        return self.field.remote_field.on_delete is CASCADE

    @property
    def forgets(self) -> bool:
        return self.field.remote_field.on_delete is SET_NULL

    def rows(self, using: str, values: Any) -> Any:
        """Those that refer to one of these values: a list, or a query of one column."""
        named = {f"{self.field.attname}__in": values}
        return self.model._base_manager.using(using).order_by().filter(**named)

    def part(self, using: str, values: Any) -> None:
        """Do as the model says, in the open transaction; what is protected is left for the database to refuse."""
        if self.goes_along:
            self.rows(using, values)._raw_delete(using)
        elif self.forgets:
            self.rows(using, values).update(**{self.field.name: None})


def outsiders(table: Table, chosen: Sequence[Table]) -> Iterator[Outsider]:
    """All such references to a table."""
    inside = {each.model for each in chosen}
    for relation in table.model._meta.get_fields(include_hidden=True):
        field = getattr(relation, "field", None)
        if not relation.auto_created or relation.concrete or not isinstance(field, ForeignKey):
            continue
        if field.model not in inside and field.model._meta.managed and not field.model._meta.proxy:
            yield Outsider(field.model, field)
