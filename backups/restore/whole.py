"""All rows of an archive, in one transaction: they are there at its commit, or none is."""

from collections.abc import Callable, Iterator, Sequence

from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.archive.read import Archive
from backups.data.lines import lines
from backups.data.load import LoadRefused, load
from backups.data.tables import Table
from backups.restore.precheck import refuse_rows
from backups.restore.quiet import quiet

EVERY = 10_000  # rows between two words of progress

Tell = Callable[[str, int, int], None]


def restore(
    archive: Archive,
    connection: BaseDatabaseWrapper,
    chosen: Sequence[Table],
    *,
    tell: Tell = lambda label, rows, of: None,
) -> dict[str, int]:
    """Fill the empty database and answer the rows of each table by label.

    ``archive`` is one that ``checked`` answered. ``tell`` hears a table's label, its rows so far and all of them. A
    process that dies leaves the database as empty as it was. Raises ``LoadRefused``, ``NotEmpty``, ``ArchiveError``,
    ``TargetError``; then nothing is kept.
    """
    counts = archive.manifest.counts
    taken = [table for table in chosen if table.label in counts]
    with transaction.atomic(using=connection.alias):
        refuse_rows(connection, chosen)
        loaded = load(
            connection,
            [(table, _told(archive, table, counts[table.label], tell)) for table in taken],
        )
        for label, number in loaded.items():
            if number != counts[label]:
                raise LoadRefused(
                    f"{label}: {number} rows came, the manifest says {counts[label]}."
                )
        quiet(connection, taken)
    ContentType.objects.clear_cache()
    return loaded


def _told(archive: Archive, table: Table, count: int, tell: Tell) -> Iterator[bytes]:
    number = 0
    for line in lines(archive.rows(table.label)):
        number += 1
        if number % EVERY == 0:
            tell(table.label, number, count)
        yield line
    tell(table.label, number, count)
