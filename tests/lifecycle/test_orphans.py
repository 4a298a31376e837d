"""Sessions that lost their client are ended, by number, name and role; and where nobody may, all goes on without."""

from collections.abc import Iterator
from uuid import uuid4
from weakref import ref

import psycopg
import pytest
from django.db import connection

from hubqueue.lifecycle import orphans
from hubqueue.lifecycle.orphans import end_orphans, remember
from hubqueue.runner.recall import recall
from tests.support.wait import until

Session = psycopg.Connection[tuple[object, ...]]

pytestmark = pytest.mark.django_db(transaction=True)


def session(name: str) -> Session:
    """One of our own, under ``name``."""
    given = connection.get_connection_params()
    keywords = {"host", "port", "user", "password", "dbname"}
    return psycopg.connect(
        **{key: value for key, value in given.items() if key in keywords}, application_name=name
    )


@pytest.fixture
def name() -> Iterator[str]:
    """What our sessions are called, the one that asks too."""
    with connection.cursor() as cursor:
        cursor.execute("SET application_name = 'hubqueue-orphans'")
    yield "hubqueue-orphans"
    orphans._ours.clear()
    connection.close()


def is_there(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid])
        return cursor.fetchone() is not None


def lose(held: Session) -> int:
    """The server has it still, and this process no more."""
    pid: int = held.info.backend_pid
    held.execute("SELECT 1")
    # For the checker no session: a dead reference stands for one that was lost.
    orphans._ours[pid] = ref(Gone())  # type: ignore[assignment]
    return pid


class Gone:
    """Nobody holds it."""


def test_who_asks_what_it_holds_has_ended_what_it_lost(name: str) -> None:
    lost = session(name)
    pid = lose(lost)
    assert recall(uuid4(), list, using="default") == []
    until(lambda: not is_there(pid), message="the end of the session")
    lost.close()


def test_a_session_that_was_lost_is_ended(name: str) -> None:
    lost = session(name)
    pid = lose(lost)
    end_orphans("default")
    until(lambda: not is_there(pid), message="the end of the session")
    assert orphans._ours == {}
    lost.close()


def test_one_that_is_in_use_is_not(name: str) -> None:
    with session(name) as used:
        remember(used)
        end_orphans("default")
        assert is_there(used.info.backend_pid)


def test_a_session_of_somebody_else_under_that_number_is_not(name: str) -> None:
    with session("another") as another:
        pid = lose(another)
        end_orphans("default")
        assert is_there(pid)


def test_where_no_session_may_be_ended_that_is_said_and_all_goes_on(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    lost = session(name)
    pid = lose(lost)
    with connection.cursor() as cursor:
        cursor.execute("REVOKE EXECUTE ON FUNCTION pg_terminate_backend FROM PUBLIC")
        cursor.execute("CREATE ROLE humble")
        cursor.execute("SET ROLE humble")
        try:
            end_orphans("default")
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP ROLE humble")
            cursor.execute("GRANT EXECUTE ON FUNCTION pg_terminate_backend TO PUBLIC")
    assert is_there(pid)
    assert "may not execute pg_terminate_backend" in caplog.text
    lost.close()
