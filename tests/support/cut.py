"""Lose the connection at the worst moments."""

from collections.abc import Callable
from functools import partial
from typing import NoReturn

import psycopg
import pytest
from django.db import connection, connections

from hubqueue.lifecycle import settle
from tests.support.rival import Rival


def lose_the_next_commit(monkeypatch: pytest.MonkeyPatch, *, after: bool) -> None:
    """The server ends the session right before or right after the next COMMIT, by itself or with a settle."""
    wrapper = connections["default"]
    settle_and_commit, commit = settle.settled_and_committed, connection._commit

    def lose(sent: Callable[[], object]) -> NoReturn:
        monkeypatch.undo()
        if after:
            sent()
        cut()
        with wrapper.wrap_database_errors:
            wrapper.connection.execute("SELECT 1") if after else sent()
        raise AssertionError("the session was not lost")

    monkeypatch.setattr(
        settle,
        "settled_and_committed",
        lambda *args, **named: lose(partial(settle_and_commit, *args, **named)),
    )
    monkeypatch.setattr(wrapper, "_commit", lambda: lose(commit) if _settled() else commit())


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


def session_of_the_queue() -> psycopg.Connection[tuple[object, ...]]:
    """One that no attempt uses, as the supervisor's are."""
    given = connection.get_connection_params()
    keywords = {"host", "port", "user", "password", "dbname"}
    address = {key: value for key, value in given.items() if key in keywords}
    return psycopg.connect(**address, application_name="hubqueue-supervisor-of-a-test")
