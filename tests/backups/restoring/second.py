"""What a tenant's rows should be as those of another one, worked out without the code that does it."""

from typing import Any

import pytest
from django.db.models import ForeignKey

from backups.data.spec import discover
from backups.data.tables import Table, tables
from backups.models import BackupRestore, BackupRun, NewKey
from backups.restores import request_restore
from backups.restoring import perform
from backups.restoring.work import Work
from tests.backups.restoring.conftest import performed

Keys = dict[tuple[str, str], str]
# What a restore does to rows that wait is another promise.
QUIETED = {"state", "reason", "disabled_at", "next_attempt_at", "outcome"}


def brought(run: BackupRun, tenant: str) -> tuple[BackupRestore, Keys]:
    """The restore when it has ended, and which key became which."""
    with pytest.MonkeyPatch.context() as patched:
        keys = kept_keys(patched)
        restore = performed(request_restore(run, mode="new_tenant", tenant=tenant))
    return restore, keys


def kept_keys(patched: pytest.MonkeyPatch) -> Keys:
    """The new keys, as soon as all is written; the end of a restore forgets them."""
    keys: Keys = {}
    set_numbers = perform.set_numbers

    def noticing(work: Work) -> None:
        for each in NewKey.objects.filter(restore=work.restore):
            keys[each.label, each.old] = each.new
        set_numbers(work)

    patched.setattr(perform, "set_numbers", noticing)
    return keys


def rows_of(tenant: str) -> dict[str, list[Any]]:
    """All rows of the tenant's own, by model."""
    return {table.label: sorted(map(_told, _rows(table, tenant))) for table in tables(discover())}


def expected(first: str, tenant: str, keys: Keys) -> dict[str, list[Any]]:
    """The rows of the first tenant, as those of the other one."""
    return {
        table.label: sorted(_as_of(table, row, first, tenant, keys) for row in _rows(table, first))
        for table in tables(discover())
    }


def _rows(table: Table, tenant: str) -> list[dict[str, Any]]:
    own = table.own_of(tenant)
    if own is None:
        return []
    every = table.model._base_manager
    names = [
        each.attname
        for each in table.model._meta.local_concrete_fields
        if each.column in table.columns
    ]
    return list(every.filter(pk__in=every.filter(own).values("pk")).values(*names))


def _as_of(table: Table, row: dict[str, Any], first: str, tenant: str, keys: Keys) -> Any:
    texts = {old: new for (_, old), new in keys.items() if "-" in old}
    made = {name: _replaced(value, texts) for name, value in row.items()}
    for field in table.model._meta.local_concrete_fields:
        if isinstance(field, ForeignKey):
            to, value = field.remote_field.model._meta.label, row[field.attname]
            made[field.attname] = keys.get((to, str(value)), value)
    key = table.model._meta.pk.attname
    made[key] = keys[table.label, str(row[key])]
    if "tenant_id" in made:
        made["tenant_id"] = tenant
    if "group_key" in made:
        made["group_key"] = made["group_key"].replace(f"order:{first}:", f"order:{tenant}:")
    return _told(made)


def _replaced(value: Any, texts: dict[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
    elif isinstance(value, list):
        value = [_replaced(each, texts) for each in value]
    elif isinstance(value, dict):
        value = {name: _replaced(each, texts) for name, each in value.items()}
    return value


def _told(row: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted(
        (name, str(bytes(value) if isinstance(value, memoryview) else value))
        for name, value in row.items()
        if name not in QUIETED
    )
