"""Django's connection pool: large enough for every thread, and no connection comes back that was let go of."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections

from hubqueue.conf import conf
from hubqueue.lifecycle.connections import discard
from hubqueue.registry import Registry
from hubqueue.runner.options import BadOptions, Options, check_start


def start_with(monkeypatch: pytest.MonkeyPatch, database: dict[str, Any], threads: int) -> None:
    entry = connections.settings["default"]
    monkeypatch.setitem(connections.settings, "default", entry | database)
    check_start(Options(threads=threads), conf(), Registry())


@pytest.mark.parametrize(
    ("pool", "size"),
    [(True, 4), ({"max_size": 6}, 6), ({"min_size": 2}, 2), ({"max_lifetime": 60}, 4)],
)
def test_a_pool_that_runs_dry_while_every_thread_works_is_refused(
    pool: object, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = {"OPTIONS": {"pool": pool}, "CONN_MAX_AGE": 0}
    with pytest.raises(BadOptions, match=rf"max_size .* threads \+ 3 = 7, got {size}:"):
        start_with(monkeypatch, database, 4)


@pytest.mark.parametrize("pool", [None, False, {"max_size": 7}, {"min_size": 7}])
def test_a_pool_that_is_large_enough_or_none_is_taken(
    pool: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_with(monkeypatch, {"OPTIONS": {"pool": pool}, "CONN_MAX_AGE": 0}, 4)


def test_a_pool_beside_connections_that_are_kept_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = {"OPTIONS": {"pool": {"max_size": 9}}, "CONN_MAX_AGE": 60}
    with pytest.raises(BadOptions, match="CONN_MAX_AGE must be 0 with a pool, got 60:"):
        start_with(monkeypatch, database, 4)


@pytest.fixture
def pooled(transactional_db: None) -> Iterator[None]:
    """The test's database through a pool of one."""
    standing = connections["default"]
    given = standing.settings_dict
    options = given["OPTIONS"] | {"pool": {"min_size": 1, "max_size": 1}}
    made = type(standing)(given | {"OPTIONS": options, "CONN_MAX_AGE": 0}, "default")
    connections["default"] = made
    yield
    connections["default"] = standing
    made.close()
    made.close_pool()


def show() -> tuple[int, str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), current_setting('statement_timeout')")
        (row,) = cursor.fetchall()
    return row


def test_a_connection_that_was_let_go_of_is_given_to_nobody(pooled: None) -> None:
    """What was set on it, or is still on its way to it, would hit the next thread."""
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '10s'")
    first, _ = show()
    discard("default")
    second, deadline = show()
    assert second != first
    assert deadline == "0"
