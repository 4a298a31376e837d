"""A whole database back into an empty one, with every job set aside in the same transaction.

``pg_restore`` makes SQL of the archive, ``psql`` runs it, and between them we put, before the one COMMIT, what makes
the copy safe. So there is no moment at which a worker sees a job that it could claim.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from django.db import connections

from backups.archive.read import Archive
from backups.data.spec import discover
from backups.errors import ToolFailed
from backups.system.child import PIECE, Program, refuse_failed, started, write
from backups.system.precheck import refuse_filled
from backups.system.quiet import quiet
from backups.system.tools import environment, programs, server_major
from hubqueue.lifecycle.restored import set_aside

COMMIT = b"\nCOMMIT;\n"
TAIL = 4096  # bytes at the end of the SQL, in which the COMMIT is: a few comments follow it
# pg_restore leaves an empty search path behind.
BEFORE = "\nSET LOCAL search_path TO DEFAULT;\nSET CONSTRAINTS ALL IMMEDIATE;\n"

# The runs and restores that the dump caught at work have no job that would end them. Older schemas have no runs.
RUNS = """
DO $$
BEGIN
    IF to_regclass('backups_backuprun') IS NOT NULL THEN
        UPDATE backups_backuprun SET state = 'FAILED', code = 'backups.restored', finished_at = hubqueue_now()
        WHERE state = 'RUNNING';
    END IF;
    IF to_regclass('backups_backuprestore') IS NOT NULL THEN
        UPDATE backups_backuprestore SET state = 'FAILED', code = 'backups.restored', finished_at = hubqueue_now()
        WHERE state = 'RUNNING';
    END IF;
END
$$;
"""


def restore(archive: Archive, using: str, checkpoint: Callable[[], object] = lambda: None) -> None:
    """Fill the empty database ``using`` from an archive of a whole one: all of it, or nothing.

    Every job that was not finished is then parked with the reason ``restored``, what applications declare as ``quiet``
    waits for an officer, runs that were going on are FAILED, and nobody of the old installation leads or holds a
    lease. Raises ``DatabaseNotEmpty`` and ``ToolMissing`` before anything is read, ``ArchiveError``,
    ``TargetError``, ``ToolFailed``.
    """
    connection = connections[using]
    refuse_filled(connection)
    found = programs(server_major(connection), "pg_restore", "psql")
    env = environment(connection)
    connection.close()
    making = [str(found / "pg_restore"), "--single-transaction", "--exit-on-error"]
    making += ["--no-owner", "--no-privileges", "--file=-"]
    running = [str(found / "psql"), "--no-psqlrc", "--quiet", "--no-password"]
    running += ["--set=ON_ERROR_STOP=1", "--file=-"]
    with (
        started(running, env, reads=True) as into,
        started(making, env, reads=True, tells=True) as sql,
    ):
        between = _Between(sql, into)
        between.start()
        _feed(sql, archive, checkpoint)
        between.join()
        refuse_failed(sql)
        between.commit()
        refuse_failed(into)


def _feed(sql: Program, archive: Archive, checkpoint: Callable[[], object]) -> None:
    assert sql.stdin is not None
    try:
        # To its end: the last piece is compared after it was handed out.
        for piece in archive.dump():
            checkpoint()
            write(sql.stdin, piece)
        sql.stdin.close()
    except BrokenPipeError:
        raise ToolFailed(
            "pg_restore or psql ended before the dump did: nothing was restored"
        ) from None


class _Between(Thread):
    """Hands on the SQL, all but its end."""

    def __init__(self, sql: Program, into: Program) -> None:
        super().__init__(daemon=True)
        assert sql.stdout is not None
        assert into.stdin is not None
        self._from, self._to, self._tail = sql.stdout, into.stdin, b""

    def run(self) -> None:
        # Either program died: the other one is told by its exit code.
        with suppress(OSError, ValueError):
            while piece := self._from.read(PIECE):
                self._tail += piece
                write(self._to, self._tail[:-TAIL])
                self._tail = self._tail[-TAIL:]
            return
        with suppress(OSError):
            self._from.close()

    def commit(self) -> None:
        """After all has been handed on: what makes the copy safe, then the end. Raises ``ToolFailed``."""
        head, commit, rest = self._tail.rpartition(COMMIT)
        if not commit:
            raise ToolFailed("pg_restore ended without a COMMIT: nothing was restored")
        safe = f"{BEFORE}{set_aside()}\n{RUNS}{quiet(discover())}".encode()
        try:
            write(self._to, head + safe + commit + rest)
            self._to.close()
        except BrokenPipeError:
            raise ToolFailed("psql met an error in the SQL: nothing was restored") from None
