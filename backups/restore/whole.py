"""All rows of an archive and of those it goes on from, in one transaction: they are there at its commit, or none is.

The files that they name are written before.
"""

from collections.abc import Callable, Iterator, Sequence

from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.archive.read import Archive
from backups.changes.apply import Changes, apply
from backups.data.lines import lines
from backups.data.load import LoadRefused, load
from backups.data.tables import Table
from backups.files.columns import storages_of
from backups.files.give import give_files
from backups.restore.precheck import refuse_rows
from backups.restore.quiet import quiet

EVERY = 10_000  # rows between two words of progress
SOME = 100  # files

Tell = Callable[[str, int, int], None]


def restore(
    chain: Sequence[Archive],
    connection: BaseDatabaseWrapper,
    chosen: Sequence[Table],
    *,
    tell: Tell = lambda label, rows, of: None,
) -> dict[str, int]:
    """Fill the empty database and answer the rows that each table then has, by label.

    ``chain`` is what ``checked`` answered: a full archive, and the incremental ones after it. ``tell`` hears a table's
    label, its lines so far and all of them, for each archive. A process that dies leaves the database as empty as it
    was, and files that the next one finds. Raises ``LoadRefused``, ``NotEmpty``, ``ArchiveError``, ``TargetError``, and
    as ``give_files``; then no row is kept.
    """
    full, *changes = chain
    taken = [table for table in chosen if table.label in full.manifest.counts]
    files = chain[-1].manifest.files
    give_files(chain, storages_of(chosen), told=lambda done: _tell_some(tell, done, files))
    with transaction.atomic(using=connection.alias):
        refuse_rows(connection, chosen)
        rows = load(connection, [(table, _told(full, table, tell)) for table in taken])
        _compare(full, rows)
        for archive in changes:
            written = apply(connection, [_changes(archive, table, tell) for table in taken])
            _compare(archive, written)
        if changes:
            rows = {table.label: _count(connection, table) for table in taken}
        quiet(connection, taken)
    ContentType.objects.clear_cache()
    return rows


def _changes(archive: Archive, table: Table, tell: Tell) -> Changes:
    gone = archive.gone(table.label)
    return Changes(table, _told(archive, table, tell), None if gone is None else lines(gone))


def _compare(archive: Archive, written: dict[str, int]) -> None:
    counts = archive.manifest.counts
    if written != counts:
        label = min(each for each in {*written, *counts} if written.get(each) != counts.get(each))
        raise LoadRefused(
            f"{archive.name}, {label}: {written.get(label, 0)} rows came,"
            f" the manifest says {counts.get(label, 0)}."
        )


def _count(connection: BaseDatabaseWrapper, table: Table) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table.name)}")
        return int(cursor.fetchone()[0])


def _tell_some(tell: Tell, done: int, of: int) -> None:
    if done % SOME == 0 or done == of:
        tell("files", done, of)


def _told(archive: Archive, table: Table, tell: Tell) -> Iterator[bytes]:
    count, number = archive.manifest.counts[table.label], 0
    for line in lines(archive.rows(table.label)):
        number += 1
        if number % EVERY == 0:
            tell(table.label, number, count)
        yield line
    tell(table.label, number, count)
