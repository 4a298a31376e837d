"""Whether the rows of an archive fit the code that is here."""

from collections.abc import Iterable, Mapping, Sequence

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from backups.errors import SchemaAhead

Schema = Mapping[str, Sequence[str]]


def applied(connection: BaseDatabaseWrapper) -> dict[str, tuple[str, ...]]:
    """The migrations that a database has, by app that is installed: what a manifest records. One query."""
    recorded = MigrationRecorder(connection).applied_migrations()
    return _by_app(each for each in recorded if each[0] in apps.app_configs)


def known() -> dict[str, tuple[str, ...]]:
    """The migrations that the code here has, by app, with those that others replace. Asks no database."""
    loader = MigrationLoader(None)
    replaced = {each for one in loader.disk_migrations.values() for each in one.replaces}
    return _by_app({*loader.disk_migrations, *replaced})


def refuse_ahead(archived: Schema, here: Schema) -> None:
    """Raise ``SchemaAhead`` when the archive knows a migration that is not here."""
    ahead = sorted(
        f"{app}.{name}"
        for app, names in archived.items()
        for name in set(names) - set(here.get(app, ()))
    )
    if ahead:
        more = f" and {len(ahead) - 3} more" if len(ahead) > 3 else ""
        raise SchemaAhead(
            f"The archive was written by newer code, with {', '.join(ahead[:3])}{more}:"
            " install the version that wrote it, or a later one."
        )


def _by_app(migrations: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for app, name in sorted(migrations):
        found.setdefault(app, []).append(name)
    return {app: tuple(names) for app, names in found.items()}
