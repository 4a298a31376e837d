"""What must hold before a dump of a whole database is restored. Nothing here writes."""

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.archive.manifest import Manifest
from backups.archive.names import DUMP
from backups.errors import DatabaseNotEmpty, NotWhole
from backups.system.tools import programs, server_major

ANYTHING = """
SELECT EXISTS (
    SELECT FROM (
        SELECT oid, relnamespace AS space, 'pg_class'::regclass AS catalog FROM pg_class
        UNION ALL SELECT oid, pronamespace, 'pg_proc'::regclass FROM pg_proc
        UNION ALL SELECT oid, oid, 'pg_namespace'::regclass FROM pg_namespace WHERE nspname <> 'public'
    ) AS thing
    JOIN pg_namespace ON pg_namespace.oid = thing.space
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
        AND NOT EXISTS (
            SELECT FROM pg_depend
            WHERE classid = thing.catalog AND objid = thing.oid AND deptype = 'e'
        )
)
"""


def refuse_filled(connection: BaseDatabaseWrapper) -> None:
    """Raise ``DatabaseNotEmpty`` when anything was made in this database."""
    with connection.cursor() as cursor:
        cursor.execute(ANYTHING)
        filled = cursor.fetchone()[0]
    if filled:
        raise DatabaseNotEmpty(
            "expected an empty database to restore into, got one with tables or functions:"
            " make a new one, and name it in DATABASE_URL"
        )


def refuse_toolless(using: str) -> None:
    """Raise ``ToolMissing`` unless the programs that fill this database are here."""
    programs(server_major(connections[using]), "pg_restore", "psql")


def refuse_other(manifest: Manifest) -> None:
    """Raise ``NotWhole`` for an archive that holds no dump."""
    if DUMP not in {each.path for each in manifest.members}:
        raise NotWhole(
            f"Expected an archive of the whole system, got one of rows, of the scope {manifest.scope}:"
            " leave out --system."
        )
