"""The whole database, as a stream of ``pg_dump``'s custom format, of exactly one moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connections

from backups.data.snapshot import Snapshot, snapshot
from backups.system.child import output, started
from backups.system.tools import environment, programs, server_major

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
    """``taken`` is the moment; ``pieces`` may be read once, and raise ``ToolFailed`` when the program died.

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
    found = programs(server_major(standing), "pg_dump")
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
        with started(command, environment(taken.connection), tells=True) as program:
            yield Dump(taken, size, output(program, checkpoint))


def _exported(taken: Snapshot) -> tuple[str, int]:
    with taken.connection.cursor() as cursor:
        cursor.execute("SELECT pg_export_snapshot(), pg_database_size(current_database())")
        row = cursor.fetchone()
    return str(row[0]), int(row[1])
