"""Two databases with the tables of ``everything``, beside the one of the other tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.data.export import Export
from backups.data.lines import lines
from backups.data.load import load
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import Table, tables

ALIASES = ("source", "copy")


class Pair:
    """A database with rows, ``source``, and one for them to come back in, ``copy``."""

    def __init__(self) -> None:
        self.source: BaseDatabaseWrapper = connections["source"]
        self.copy: BaseDatabaseWrapper = connections["copy"]
        found = tables(discover())
        self.tables: list[Table] = [each for each in found if each.label.startswith("everything.")]

    def table(self, model: str) -> Table:
        return next(each for each in self.tables if each.label == f"everything.{model}")

    def execute(self, sql: str, params: Any = None, of: str = "source") -> list[tuple[Any, ...]]:
        with connections[of].cursor() as cursor:
            cursor.execute(sql, params)
            return cursor.fetchall() if cursor.description else []

    def export(self, chosen: list[Table] | None = None, tenant: str | None = None) -> Any:
        """Every table with its lines."""
        chosen = self.tables if chosen is None else chosen
        with snapshot(chosen, "source") as taken:
            return [(each, list(Export(taken, each, tenant))) for each in chosen]

    def load(self, exported: Any) -> dict[str, int]:
        with transaction.atomic(using="copy"):
            return load(self.copy, [(table, lines(blocks)) for table, blocks in exported])

    def empty(self) -> None:
        names = ", ".join(f'"{each.name}"' for each in self.tables)
        for alias in ALIASES:
            self.execute(f"TRUNCATE {names} RESTART IDENTITY", of=alias)


@contextmanager
def database(alias: str) -> Iterator[BaseDatabaseWrapper]:
    """An empty database that Django knows by this alias, on the server of the others; gone with the block."""
    name = f"hubqueue_backups_{os.getpid()}_{alias}"
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    connections.databases[alias] = deepcopy(connection.settings_dict) | {"NAME": name}
    try:
        yield connections[alias]
    finally:
        connections[alias].close()
        del connections[alias], connections.databases[alias]
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def renew(alias: str, template: str) -> None:
    """The database of this alias anew, as a copy of another one that nobody is connected to."""
    connections[alias].close()
    name = connections[alias].settings_dict["NAME"]
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def installed() -> list[str]:
    return [*settings.INSTALLED_APPS, "tests.backups.data.everything.apps.EverythingConfig"]


def create(wrapper: BaseDatabaseWrapper) -> None:
    with wrapper.schema_editor() as editor:
        for model in apps.get_app_config("everything").get_models():
            if model.__name__ != "Contrib":
                editor.create_model(model)
