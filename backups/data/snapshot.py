"""One view of the whole database, that of one moment, for as long as an export takes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

from backups.data.text_form import SETTINGS
from backups.data.unlimited import unlimit
from backups.errors import BackupError
from hubqueue.api import dedicated_connection

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A policy that would hide rows becomes an error instead.
EVERY_ROW = "SET LOCAL row_security = off"
# The planner thinks that the pages of an export hold far more rows than they do, and would compile for each table.
NO_JIT = "SET LOCAL jit = off"
# Whose transactions these are. A table that came by a restore of a dump is another one, with another oid; a server
# that was wound back goes on in another timeline.
LINEAGE = """
SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
    CASE WHEN pg_is_in_recovery() THEN (SELECT lpad(to_hex(timeline_id), 8, '0') FROM pg_control_checkpoint())
        ELSE lower(left(pg_walfile_name(pg_current_wal_lsn()), 8)) END,
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    to_regclass('backups_tombstone')::oid)
"""
HIDDEN = """
SELECT name FROM unnest(%s::text[]) AS every (name)
WHERE NOT has_table_privilege(name, 'SELECT') OR row_security_active(name) ORDER BY name
"""


class RightsMissing(BackupError):
    """The account of the database may not read a table, or not every row of it."""

    code = "backups.rights_missing"


class TablesLocked(BackupError):
    """Somebody changes the tables themselves, and did not finish in time."""

    code = "backups.tables_locked"
    passing = True


class Named(Protocol):
    """A table, for its lock: only its name in the database counts."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``taken_at``: every transaction that was committed by then is in it (the database's clock).

    ``transactions``: ``pg_current_snapshot()`` as text: which transactions are in it, for a later archive of what
    changed since. ``migrations``: the applied migrations of each app, in the order in which they were applied.
    ``lineage``: the history of the database whose transactions these are; numbers of another say nothing here.
    """

    connection: BaseDatabaseWrapper
    taken_at: datetime
    transactions: str
    migrations: dict[str, list[str]]
    lineage: str

    def end(self) -> None:
        """Let the view go before the connection, so that VACUUM goes on. Cursors that hold their rows stay readable.

        Through a pooler in transaction mode the view stays until the block ends: it gives the session to others.
        """
        if self.connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
            return
        with self.connection.cursor() as cursor:
            cursor.execute("COMMIT")
            cursor.execute("SET idle_session_timeout = 0")


@contextmanager
def snapshot(
    tables: Sequence[Named], using: str | None = None, *, lock_seconds: float = 60
) -> Iterator[Snapshot]:
    """Hold a snapshot over a connection of its own until the block ends. It can only read.

    The tables are locked against changes of the tables themselves, not of rows: TRUNCATE and ALTER TABLE, which no
    snapshot shields from, wait until the end; ones at work are waited for, ``lock_seconds`` each, then
    ``TablesLocked`` is raised. Raises ``RightsMissing`` when there are rows that could not be read.
    """
    with dedicated_connection(using) as connection:
        _begin(connection)
        # Before anything that reads: the snapshot is taken then, and must see the tables as they stay.
        names = [connection.ops.quote_name(table.name) for table in tables]
        _lock(connection, names, lock_seconds)
        taken = _look(connection)
        _refuse_hidden(connection, names)
        yield taken


def _begin(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute(BEGIN)
        for statement in (*SETTINGS, EVERY_ROW, NO_JIT):
            cursor.execute(statement)
    unlimit(connection)


def _lock(connection: BaseDatabaseWrapper, names: Sequence[str], seconds: float) -> None:
    if not names:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {max(1, round(seconds * 1000))}")
        try:
            cursor.execute(f"LOCK TABLE {', '.join(names)} IN ACCESS SHARE MODE")
        except Error as error:
            match getattr(error.__cause__, "sqlstate", None):
                case "55P03":  # lock_not_available
                    raise TablesLocked(
                        f"The tables are being changed by somebody else; after {seconds:g} s they were"
                        " still locked. Try again when that has ended."
                    ) from None
                case "42501":  # insufficient_privilege
                    cursor.execute("ROLLBACK")
                    with suppress(Error):  # of a schema that it may not use nothing more is told
                        _refuse_hidden(connection, names)
                    raise RightsMissing(
                        "The account of the database may not use every schema: grant it USAGE of them."
                    ) from None
            raise


def _refuse_hidden(connection: BaseDatabaseWrapper, names: Sequence[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(HIDDEN, [list(names)])
        found = [name for (name,) in cursor.fetchall()]
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise RightsMissing(
            f"The account of the database may not read all of {found[0]}{more}: grant it SELECT, and BYPASSRLS"
            " where a table has policies."
        ) from None


def _look(connection: BaseDatabaseWrapper) -> Snapshot:
    with connection.cursor() as cursor:
        # The statement's time is read before its snapshot is taken.
        cursor.execute("SELECT statement_timestamp(), pg_current_snapshot()::text")
        taken_at, transactions = cursor.fetchone()
        cursor.execute(LINEAGE)
        (lineage,) = cursor.fetchone()
    return Snapshot(connection, taken_at, transactions, _migrations(connection), lineage)


def _migrations(connection: BaseDatabaseWrapper) -> dict[str, list[str]]:
    recorder = MigrationRecorder(connection)
    applied: dict[str, list[str]] = {}
    if recorder.has_table():
        rows = recorder.migration_qs.order_by("id").values_list("app", "name")
        text, params = rows.query.get_compiler(connection=connection).as_sql()
        with connection.cursor() as cursor:
            cursor.execute(text, params)
            for app, name in cursor.fetchall():
                applied.setdefault(app, []).append(name)
    return applied
