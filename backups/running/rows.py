"""The declared rows, and the files that they name, into an archive."""

from collections.abc import Iterator, Sequence

from backups.archive.manifest import Manifest
from backups.archive.write import ArchiveWriter
from backups.changes.since import changed_rows, gone
from backups.data.export import Export
from backups.data.snapshot import Snapshot, snapshot
from backups.data.spec import discover
from backups.data.tables import Table, tables
from backups.files.columns import Storages, storages_of
from backups.files.names import Named, names
from backups.files.take import take
from backups.running.attempt import Attempt
from backups.running.options import options_of
from backups.running.parent import continued, parents_at_target
from backups.tenants import refuse_unknown

SIZES = "SELECT sum(pg_table_size(name::regclass)) FROM unnest(%s::text[]) AS every (name)"
ROWS_SHARE = 0.5  # of writing, where there are columns of files


def write_rows(attempt: Attempt, *, until: float) -> Manifest:
    """Write every declared table in its order, under one snapshot that is taken now, and then the files that the rows
    name, as they are by then: no snapshot is held for those. Progress goes to ``until``.

    Of an incremental run, what changed since its parent; a run whose parent cannot be gone on from becomes a full one.
    Raises ``TenantUnknown``.
    """
    refuse_unknown(attempt.run.tenant)
    chosen = tables(discover())
    options = options_of(chosen)
    found = parents_at_target(attempt, options)
    storages = storages_of(chosen)
    rows_until = until * ROWS_SHARE if storages else until
    with snapshot(chosen) as taken:
        parents = continued(attempt, found, taken)
        parent = parents[-1] if parents else None
        writer = attempt.writer_of(taken, parent, options)
        gauge = _Gauge(attempt, _size(taken, chosen), rows_until)
        for table in chosen:
            attempt.job.checkpoint()
            size = _size(taken, [table])
            if parent is None:
                rows = Export(taken, table, attempt.run.tenant)
                writer.add_rows(table.label, gauge.through(rows, size))
                continue
            since = parent.snapshot.transactions
            writer.add_rows(table.label, gauge.through(changed_rows(taken, table, since), size))
            if (deleted := gone(taken, table, since)) is not None:
                writer.add_gone(table.label, gauge.through(deleted, 0))
        with names(taken, chosen, attempt.run.tenant) as named:
            taken.end()
            _write_files(attempt, writer, named, storages, parents, (rows_until, until))
        return writer.finish()


def _write_files(
    attempt: Attempt,
    writer: ArchiveWriter,
    named: Iterator[Named],
    storages: Storages,
    parents: Sequence[Manifest],
    shares: tuple[float, float],
) -> None:
    begin, end = shares
    take(
        named,
        storages,
        writer,
        held=frozenset[str]().union(*(each.contents for each in parents)),
        checkpoint=attempt.job.checkpoint,
        told=lambda done, of: attempt.pace.at(begin + (end - begin) * done / max(1, of)),
    )


class _Gauge:
    """The share that was written, by the tables' sizes on disk; within a table, by the bytes that left."""

    def __init__(self, attempt: Attempt, size: int, until: float) -> None:
        self._attempt, self._size, self._until = attempt, size, until
        self._done = 0

    def through(self, blocks: Export, size: int) -> Iterator[bytes]:
        sent = 0
        for block in blocks:
            self._attempt.job.checkpoint()
            yield block
            sent += len(block)
            self._told(self._done + min(sent, size))
        self._done += size
        self._told(self._done)

    def _told(self, done: int) -> None:
        self._attempt.pace.at(self._until * done / max(1, self._size))


def _size(taken: Snapshot, chosen: Sequence[Table]) -> int:
    names = [taken.connection.ops.quote_name(table.name) for table in chosen]
    with taken.connection.cursor() as cursor:
        cursor.execute(SIZES, [names])
        return int(cursor.fetchone()[0] or 0)
