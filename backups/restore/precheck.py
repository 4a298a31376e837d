"""What must hold before a row is written. Nothing here writes."""

from collections.abc import Callable, Sequence
from functools import partial

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from backups.archive.chain import open_chain
from backups.archive.manifest import Manifest
from backups.archive.names import DUMP
from backups.archive.read import Archive
from backups.archive.schema import known
from backups.archive.verify import Progress, refuse_unsound
from backups.data.tables import Table
from backups.errors import NotEmpty, NotMigrated, NotWhole, SchemaAhead
from backups.files.columns import storages_of
from backups.files.give import refuse_files
from backups.keys import KeyRing
from backups.scopes import WHOLE
from backups.targets.store import Store
from hubqueue.models import Job


def checked(
    store: Store,
    name: str,
    ring: KeyRing,
    connection: BaseDatabaseWrapper,
    chosen: Sequence[Table],
    *,
    encrypted: bool,
    progress: Callable[[str, Progress], None] = lambda name, at: None,
) -> list[Archive]:
    """The archive and all that it goes on from, the full one first, each open and read to its last byte, when it may
    be restored into this database. ``encrypted`` refuses one that is not, as ``open_archive`` does.

    Raises ``ArchiveError`` (format, key, schema, members, parents, unsound), ``NotWhole``, ``NotMigrated``,
    ``NotEmpty``, ``TargetError``; and what ``refuse_files`` raises for files that stand in the way.
    """
    chain = open_chain(store, name, ring, schema=known(), encrypted=encrypted)
    for archive in chain:
        _refuse_parts(archive.manifest, {table.label for table in chosen})
    refuse_unmigrated(connection)
    refuse_rows(connection, chosen)
    for archive in chain:
        refuse_unsound(store, archive.name, ring, progress=partial(progress, archive.name))
    refuse_files(chain, storages_of(chosen))
    return chain


def refuse_unmigrated(connection: BaseDatabaseWrapper) -> None:
    """Raise ``NotMigrated`` unless every migration that is here is applied."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotMigrated("The database lacks migrations of this version: run manage.py migrate.")


def refuse_rows(connection: BaseDatabaseWrapper, chosen: Sequence[Table]) -> None:
    """Raise ``NotEmpty`` for a database that holds jobs, or rows that ``migrate`` does not make."""
    asked = [(table.label, table.name) for table in chosen if not table.declared.made_by_migrate]
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for label, name in [*asked, (Job._meta.label, Job._meta.db_table)]:
            cursor.execute(f"SELECT EXISTS (SELECT FROM {connection.ops.quote_name(name)})")
            if cursor.fetchone()[0]:
                raise NotEmpty(
                    f"The database must be empty, as migrate makes it, but {label} holds rows:"
                    " restore into a new database, before a worker or a web server is started."
                )


def _refuse_parts(manifest: Manifest, here: set[str]) -> None:
    if DUMP in {each.path for each in manifest.members}:
        raise NotWhole(
            "Expected an archive of the rows of the whole installation, got a dump of a whole system:"
            " restore it with --system, into a database without even tables."
        )
    if manifest.scope != WHOLE:
        raise NotWhole(
            "Expected an archive of the rows of the whole installation,"
            f" got one of the scope {manifest.scope}."
        )
    if unknown := sorted(manifest.counts.keys() - here):
        raise SchemaAhead(f"The archive holds rows of {unknown[0]}, which is not installed here.")
