"""The declared rows, into an archive."""

from collections.abc import Iterator, Sequence

from backups.archive.manifest import Manifest
from backups.changes.since import changed_rows, gone
from backups.data.export import Export
from backups.data.snapshot import Snapshot, snapshot
from backups.data.spec import discover
from backups.data.tables import Table, tables
from backups.running.attempt import Attempt
from backups.running.options import options_of
from backups.running.parent import continued, parent_at_target

SIZES = "SELECT sum(pg_table_size(name::regclass)) FROM unnest(%s::text[]) AS every (name)"


def write_rows(attempt: Attempt, *, until: float) -> Manifest:
    """Write every declared table in its order, under one snapshot that is taken now. Progress goes to ``until``.

    Of an incremental run, what changed since its parent; a run whose parent cannot be gone on from becomes a full one.
    """
    chosen = tables(discover())
    options = options_of(chosen)
    found = parent_at_target(attempt, options)
    with snapshot(chosen) as taken:
        parent = continued(attempt, found, taken)
        writer = attempt.writer_of(taken, parent, options)
        gauge = _Gauge(attempt, _size(taken, chosen), until)
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
        return writer.finish()


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
