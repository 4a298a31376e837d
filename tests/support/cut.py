"""Lose the connection at the worst moments."""

import pytest
from django.db import connection, connections

from tests.support.rival import Rival


def lose_the_next_commit(monkeypatch: pytest.MonkeyPatch, *, after: bool) -> None:
    """The server ends the session right before or right after the next COMMIT that follows a settle."""
    real = connection._commit
    wrapper = connections["default"]

    def commit() -> None:
        if not _settled():
            real()
            return
        monkeypatch.undo()
        if after:
            real()
            cut()
            with wrapper.wrap_database_errors:
                wrapper.connection.execute("SELECT 1")
        cut()
        real()

    monkeypatch.setattr(wrapper, "_commit", commit)


def _settled() -> bool:
    with connections["default"].connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM hubqueue_job WHERE state <> 'RUNNING'")
        (settled,) = cursor.fetchone()
    return bool(settled)


def cut() -> None:
    """The server ends our session."""
    connection.ensure_connection()
    pid = connection.connection.info.backend_pid
    with Rival() as rival:
        rival.do(
            lambda: connection.cursor().execute("SELECT pg_terminate_backend(%s, 9000)", [pid])
        )
