"""The whole database, as a stream of ``pg_dump``'s custom format, of exactly one moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connections

from backups.data.snapshot import Snapshot, snapshot
from backups.errors import ToolFailed
from backups.system.child import Program, output, refuse_failed, started, write
from backups.system.tools import environment, programs, server_major, surroundings

LOCK_SECONDS = 60
# Of every schema, as pg_dump takes them; partitions are locked with their table.
TABLES = """
SELECT '"' || replace(nspname, '"', '""') || '"."' || replace(relname, '"', '""') || '"'
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname !~ '^pg_' AND nspname <> 'information_schema'
    AND NOT EXISTS (
        SELECT FROM pg_depend
        WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')
ORDER BY pg_class.oid
"""


@dataclass(frozen=True, slots=True)
class Dump:
    """``taken`` is the moment; ``pieces`` may be read once, and raise ``ToolFailed`` when the program died, or
    when what it wrote is no whole dump.

    ``size`` is that of the database on disk, in bytes: about what comes, for people.
    """

    taken: Snapshot
    size: int
    pieces: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class _Locked:
    name: str


@contextmanager
def dumped(using: str, checkpoint: Callable[[], object]) -> Iterator[Dump]:
    """Dump the database ``using``. The program is dead, and its snapshot gone, when the block ends.

    ``checkpoint`` is called all the while, also when the program is silent; what it raises ends the dump. Raises
    ``ToolMissing`` before anything else, ``TablesLocked``, ``RightsMissing``.
    """
    standing = connections[using]
    found = programs(server_major(standing), "pg_dump", "pg_restore")
    # What is rewritten (ALTER TABLE) after the snapshot would look empty in it.
    with standing.cursor() as cursor:
        cursor.execute(TABLES)
        names = [_Locked(name) for (name,) in cursor.fetchall()]
    with snapshot(names, using, lock_seconds=LOCK_SECONDS) as taken:
        exported, size = _exported(taken)
        command = [
            str(found / "pg_dump"),
            "--format=custom",
            "--compress=0",
            "--no-password",
            f"--lock-wait-timeout={LOCK_SECONDS * 1000}",
            f"--snapshot={exported}",
        ]
        reading = [str(found / "pg_restore"), "--file=/dev/null"]
        with (
            started(command, environment(taken.connection), tells=True) as program,
            started(reading, surroundings(), reads=True) as reader,
        ):
            yield Dump(taken, size, _read_along(output(program, checkpoint), reader))


def _read_along(pieces: Iterator[bytes], reader: Program) -> Iterator[bytes]:
    """The same pieces; at their end they were a dump that can be read to its end. Programs may fail and say nothing."""
    assert reader.stdin is not None
    try:
        for piece in pieces:
            write(reader.stdin, piece)
            yield piece
        reader.stdin.close()
    except BrokenPipeError:
        raise ToolFailed(
            "pg_restore cannot read what pg_dump wrote: nothing of it was kept"
        ) from None
    refuse_failed(reader)


def _exported(taken: Snapshot) -> tuple[str, int]:
    with taken.connection.cursor() as cursor:
        cursor.execute("SELECT pg_export_snapshot(), pg_database_size(current_database())")
        row = cursor.fetchone()
    return str(row[0]), int(row[1])
