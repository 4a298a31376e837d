"""The rows that a table has now and its parent archive has not, by the transactions that the parent saw."""

import re
from typing import Any

from psycopg import sql

from backups.archive.manifest import Manifest
from backups.changes.track import is_tracked
from backups.data.export import Export
from backups.data.snapshot import Snapshot
from backups.data.tables import Table
from backups.data.text_form import lines_query
from backups.errors import BackupError

SNAPSHOT = re.compile(r"\d+:\d+:(\d+(,\d+)*)?", re.ASCII)
MARKED = """
SELECT EXISTS (
    SELECT FROM backups_tombstone WHERE "table" = %s AND key IS NULL
        AND NOT pg_visible_in_snapshot(xid, %s::pg_snapshot))
"""
AHEAD = "SELECT pg_snapshot_xmax(%s::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot())"


class SnapshotRefused(BackupError):
    """The text is not that of a snapshot."""

    code = "backups.snapshot_refused"


def can_continue(parent: Manifest, taken: Snapshot, tenant: str | None = None) -> bool:
    """Whether an archive of this snapshot may hold only what changed since ``parent``; otherwise it must be full.

    Only within one history of one database, with the same migrations (a change of a table stamps no row), and for
    the whole installation: which tenant a row belongs to may change without a change of the row. The scope, and
    whether the parent is complete and sound, are the caller's to compare.
    """
    told = parent.snapshot
    if tenant is not None or not told.lineage or told.lineage != taken.lineage:
        return False
    if parent.schema != taken.migrations or not SNAPSHOT.fullmatch(told.transactions):
        return False
    with taken.connection.cursor() as cursor:
        cursor.execute(AHEAD, [told.transactions])
        return not cursor.fetchone()[0]


def is_whole(
    taken: Snapshot, table: Table, parent_transactions: str, tenant: str | None = None
) -> bool:
    """Whether the table goes whole into an incremental archive: it has no triggers at work, was truncated since the
    parent, or is a tenant's. Raises ``SnapshotRefused``."""
    _refuse_what_is_none(parent_transactions)
    if tenant is not None or not table.declared.incremental:
        return True
    if not is_tracked(taken.connection, table):
        return True
    with taken.connection.cursor() as cursor:
        cursor.execute(MARKED, [table.name, parent_transactions])
        return bool(cursor.fetchone()[0])


def changed_rows(
    taken: Snapshot, table: Table, parent_transactions: str, tenant: str | None = None
) -> Export:
    """The lines of the rows whose last change is by a transaction that the parent did not see; all if ``is_whole``.

    As ``Export``: to be iterated once, in constant memory; one sequential scan of the table, no index.
    ``parent_transactions`` is ``snapshot.transactions`` of the parent's manifest.
    """
    if is_whole(taken, table, parent_transactions, tenant):
        return Export(taken, table, tenant)
    stamp = taken.connection.ops.quote_name(table.declared.changed_in)
    query, _ = lines_query(taken.connection, table)
    with taken.connection.cursor() as cursor:
        text = _literal(cursor, parent_transactions)
    seen = f"pg_visible_in_snapshot({stamp}::text::xid8, {text}::pg_snapshot)"
    return Export(taken, table, query=f"{query} WHERE NOT {seen}")


def gone(
    taken: Snapshot, table: Table, parent_transactions: str, tenant: str | None = None
) -> Export | None:
    """The keys of the rows that were deleted, or got another key, since the parent: lines of the key's columns.

    ``None`` if ``is_whole``: the archive then has no member of deletions for this table. A key that is there again is
    among ``changed_rows`` too: deletions are applied first.
    """
    if is_whole(taken, table, parent_transactions, tenant):
        return None
    with taken.connection.cursor() as cursor:
        name, text = _literal(cursor, table.name), _literal(cursor, parent_transactions)
    query = (
        f'SELECT DISTINCT key FROM backups_tombstone WHERE "table" = {name} AND key IS NOT NULL'
        f" AND NOT pg_visible_in_snapshot(xid, {text}::pg_snapshot)"
    )
    return Export(taken, table, query=query)


def _literal(cursor: Any, text: str) -> str:
    return sql.Literal(text).as_string(cursor.connection)


def _refuse_what_is_none(text: str) -> None:
    if not SNAPSHOT.fullmatch(text):
        raise SnapshotRefused(
            "Expected pg_current_snapshot() as text, as 10:20:10,14; got another text."
        )
