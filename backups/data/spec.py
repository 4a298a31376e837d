"""What the applications declare in their ``backup_spec.py``: plain data, which imports nothing of backups.

    BACKUP = (
        {"model": "shop.Order", "tenant": "customer__tenant_id", "redact": {"note": ""}},
        {"model": "shop.Colour", "shared": True},
    )
    LEFT_OUT = {"shop.Basket": "Forgotten after an hour."}
    QUIET = {"shop.Feed": ({"sql": "UPDATE shop_feed SET enabled = false WHERE {rows}", "since": "0001_initial"},)}

``QUIET`` is of models that are left out: what is done to their rows in a copy of the whole database. An application
may declare models of others that have no such file, as Django's own.
"""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Annotated, TypeVar

import msgspec
from django.apps import apps
from django.utils.module_loading import module_has_submodule

from backups.errors import BackupError

T = TypeVar("T")


Reason = Annotated[str, msgspec.Meta(min_length=1)]


class SpecRefused(BackupError):
    """A declaration cannot be used; the sentence says which and why."""

    code = "backups.spec_refused"


class Quiet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a restore does to rows of a model, so that nothing goes out and nothing runs because they are there.

    ``sql``: a statement of PostgreSQL without parameters, run in the transaction that restores the rows. ``{rows}`` in
    it stands for the condition that selects them. ``since``: the migration of the model's application from which on it
    fits: a dump brings the schema that it was made of.
    """

    sql: str
    since: str

    def over(self, rows: str = "TRUE") -> str:
        """The statement over the rows for which the SQL ``rows`` holds."""
        return self.sql.replace("{rows}", rows)


class Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model. The automatic tables of its many-to-many fields come with it.

    ``tenant``: the lookup that leads from a row to its tenant's id, as in ``filter()``; without one the model is in
    archives of the whole installation only, unless it is ``shared``: the same rows for every tenant.
    ``shared_without``: a lookup; rows for which it is NULL are shared as well.
    ``redact``: columns by name, and what is written in the place of their values: PostgreSQL's text form, or None.
    ``files_left_out``: file columns by name, and why their files are not in archives; those of ``redact`` never are.
    ``stamped``: columns that triggers fill when a row is written; they are not in archives.
    ``made_by_migrate``: ``migrate`` makes rows of its own, which a load takes away first.
    ``quiet``: what a restore does to the rows it brought, in this order.
    ``tenant_in``: columns by name whose text begins with the tenant's name in a form of theirs, and that form:
    ``{"key": "order:{tenant}:"}``. A restore as a new tenant writes that one's name there.
    ``last``: above 0 its rows set work going, so that a restore into a database in use writes them when all else is
    there, the greatest last, and takes them away first. Nothing may refer to them, but rows of a greater one. What
    ``quiet`` of a model adds to another one must be written before it.
    ``incremental``: the model has change triggers, so that an archive may hold what changed since its parent only.
    ``changed_in``: the column that these triggers fill with the changing transaction (xid8, or its number as bigint).
    """

    model: str
    tenant: str | None = None
    shared: bool = False
    shared_without: str | None = None
    redact: dict[str, str | None] = {}
    files_left_out: dict[str, Reason] = {}
    stamped: tuple[str, ...] = ()
    made_by_migrate: bool = False
    quiet: tuple[Quiet, ...] = ()
    tenant_in: dict[str, str] = {}
    last: int = 0
    incremental: bool = False
    changed_in: str = "backups_xid"


class Specs(msgspec.Struct, frozen=True):
    """All that the installed applications declare: the models by label, the reasons of what is left out, and what
    becomes of the rows of those in a copy of the whole database."""

    declared: dict[str, Declared]
    left_out: dict[str, str]
    quiet: dict[str, tuple[Quiet, ...]] = {}


def discover() -> Specs:
    """The declarations of all installed applications. Raises ``SpecRefused``."""
    declared: dict[str, Declared] = {}
    left_out: dict[str, str] = {}
    quiet: dict[str, tuple[Quiet, ...]] = {}
    for module in _modules():
        for raw in getattr(module, "BACKUP", ()):
            one = _read(module, raw, Declared)
            if one.model in declared:
                raise SpecRefused(f"{module.__name__}: {one.model} is declared twice.")
            declared[one.model] = one
        left_out |= getattr(module, "LEFT_OUT", {})
        quiet |= _read(module, getattr(module, "QUIET", {}), dict[str, tuple[Quiet, ...]])
    for label in declared.keys() & left_out.keys():
        raise SpecRefused(f"{label} is declared and left out; it must be one of the two.")
    for label in quiet.keys() - left_out.keys():
        raise SpecRefused(f"{label} is not left out: what is declared has its own quiet.")
    return Specs(declared, left_out, quiet)


def undeclared(specs: Specs) -> list[str]:
    """The labels of installed models that are neither declared nor left out, sorted. Proxies have no rows of their own,
    and automatic many-to-many tables belong to the model that has the field."""
    labels = {model._meta.label for model in apps.get_models() if not model._meta.proxy}
    return sorted(labels - specs.declared.keys() - specs.left_out.keys())


def _modules() -> Iterator[ModuleType]:
    for app in apps.get_app_configs():
        if app.module is not None and module_has_submodule(app.module, "backup_spec"):
            yield import_module(f"{app.name}.backup_spec")


def _read(module: ModuleType, raw: object, into: type[T]) -> T:
    try:
        return msgspec.convert(raw, into)
    except msgspec.ValidationError as error:
        raise SpecRefused(f"{module.__name__}: {raw!r} is no declaration: {error}.") from None
