"""Move the queue's clock for one connection, or for the processes a test starts."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from hubqueue.lifecycle.database import connection

SETTING = "hubqueue.clock_offset"


@contextmanager
def move_clock(by: timedelta) -> Iterator[None]:
    """Inside the block the queue's clock of this connection is ``by`` ahead (behind, when negative).

    Blocks add up, and each restores what it found. Other connections are not moved: see
    ``clock_environment``. For a whole test: ``self.enterContext(move_clock(...))``.
    """
    before = _read()
    _write(f"{_seconds(before) + by.total_seconds()} seconds")
    try:
        yield
    finally:
        if not _broken():
            _write(before)


def clock_environment(by: timedelta) -> dict[str, str]:
    """Environment variables that move the clock of every connection of a process started with them.

    libpq reads them, so this holds for a worker, its children and ``psql``; a pooler may drop them.
    """
    return {"PGOPTIONS": f"-c {SETTING}={by.total_seconds()}s"}


def _read() -> str:
    with connection().cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting(%s, true), '')", [SETTING])
        (found,) = cursor.fetchone()
    return str(found)


def _seconds(offset: str) -> float:
    with connection().cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM coalesce(nullif(%s, ''), '0')::interval)", [offset]
        )
        (found,) = cursor.fetchone()
    return float(found)


def _write(offset: str) -> None:
    with connection().cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, false)", [SETTING, offset])


def _broken() -> bool:
    """A transaction that failed takes the setting back by itself when it is rolled back."""
    ours = connection()
    if ours.connection is None:
        return True
    return ours.needs_rollback or ours.connection.info.transaction_status.name == "INERROR"
