"""The first statement of an attempt's transaction brings BEGIN along, and nobody can tell but by the clock."""

import gc
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection, transaction
from psycopg import ClientCursor

from hubqueue.api import JobContext
from hubqueue.lifecycle.connections import begin
from hubqueue.lifecycle.opening import Opening
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Job
from hubqueue.states import State
from tests.support.handlers import script, scripted
from tests.support.rows import attempt_of, claim_one

pytestmark = pytest.mark.django_db(transaction=True)

# A line of the trace: when, by whom, how long, what; a statement may go on for lines.
SENT = re.compile(r"^\S+ \S+\tF\t\d+\t(\w+.*?)(?=^\S+ \S+\t[FB]\t|\Z)", re.MULTILINE | re.DOTALL)


@contextmanager
def asked(into: Path) -> Iterator[list[str]]:
    """The messages that go to the server over this connection, by libpq's own account."""
    found: list[str] = []
    connection.ensure_connection()
    pgconn = connection.connection.pgconn
    with into.open("w+") as told:
        pgconn.trace(told.fileno())
        yield found
        pgconn.untrace()
    found += SENT.findall(into.read_text())


def run_script(function: Callable[[JobContext], Any]) -> Any:
    with script(function) as name:
        scripted.enqueue(script=name)
        return run(attempt_of(claim_one()))


def sql(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def test_a_job_with_one_statement_is_two_messages(tmp_path: Path) -> None:
    def write(job: JobContext) -> None:
        sql("INSERT INTO auth_group (name) VALUES (%s)", "one")

    with script(write) as name:
        scripted.enqueue(script=name)
        attempt = attempt_of(claim_one())
        with asked(tmp_path / "told") as messages:
            assert isinstance(run(attempt), Settled)
    assert len(messages) == 2
    assert "BEGIN;" in messages[0]
    assert "INSERT INTO auth_group" in messages[0]
    assert "hubqueue_settle" in messages[1]
    assert "COMMIT" in messages[1]
    assert Group.objects.count() == 1


def test_a_job_without_a_statement_is_one(tmp_path: Path) -> None:
    with script(lambda job: None) as name:
        scripted.enqueue(script=name)
        attempt = attempt_of(claim_one())
        with asked(tmp_path / "told") as messages:
            run(attempt)
    assert len(messages) == 1
    assert Job.objects.get().state == State.SUCCEEDED


@pytest.mark.parametrize(
    "statement", ["SELECT nobody", "SELEC 1", "'", "SELECT 1; SELEC 2", "SELECT 1 / 0", "SELECT %s"]
)
def test_a_first_statement_that_fails_is_never_swallowed(statement: str) -> None:
    def swallow(job: JobContext) -> None:
        with suppress(DatabaseError), transaction.atomic(durable=False, savepoint=False):
            sql(statement)
        with suppress(DatabaseError):
            sql(statement)
        with suppress(DatabaseError, transaction.TransactionManagementError):
            Group.objects.create(name="written after it")

    assert run_script(swallow).state == State.READY
    assert not Group.objects.exists()


@pytest.mark.parametrize("statement", ["SELECT nobody", "SELEC 1"])
def test_a_first_statement_that_fails_inside_a_savepoint_is_forgiven(statement: str) -> None:
    def forgive(job: JobContext) -> None:
        with suppress(DatabaseError), transaction.atomic():
            sql(statement)
        Group.objects.create(name="written after it")

    assert run_script(forgive).state == State.SUCCEEDED
    assert Group.objects.count() == 1


@pytest.mark.parametrize("empty", ["", "-- nothing", "/* nothing */"])
def test_a_first_statement_may_be_empty(empty: str) -> None:
    def write(job: JobContext) -> None:
        sql(empty)
        sql("INSERT INTO auth_group (name) VALUES ('one')")

    assert run_script(write).state == State.SUCCEEDED
    assert Group.objects.count() == 1


def copy() -> None:
    with connection.cursor() as cursor, cursor.copy("COPY auth_group (name) FROM STDIN") as rows:
        rows.write_row(["one"])


def many() -> None:
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO auth_group (name) VALUES (%s)", [["one"], ["two"]])
        assert cursor.rowcount == 2


def several() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO auth_group (name) VALUES ('one'); SELECT 7 AS seven")
        assert (cursor.rowcount, cursor.cursor.statusmessage) == (1, "INSERT 0 1")
        assert cursor.nextset()
        assert [column.name for column in cursor.description] == ["seven"]
        assert cursor.fetchall() == [(7,)]


def streamed() -> None:
    assert list(Group.objects.iterator(chunk_size=1)) == []
    Group.objects.create(name="one")


def described() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO auth_group (name) VALUES ('one'), ('two') RETURNING name")
        assert (cursor.rowcount, cursor.cursor.statusmessage) == (2, "INSERT 0 2")
        assert [column.name for column in cursor.description] == ["name"]
        assert cursor.fetchall() == [("one",), ("two",)]


def isolated() -> None:
    assert sql("SHOW transaction_isolation") == [("read committed",)]
    Group.objects.create(name="one")


@pytest.mark.parametrize("first", [copy, many, several, streamed, described, isolated])
def test_a_transaction_may_begin_with_anything(first: Callable[[], None]) -> None:
    def fail(job: JobContext) -> None:
        first()
        assert Group.objects.exists()
        raise LookupError

    assert run_script(lambda job: first()).state == State.SUCCEEDED
    assert Group.objects.exists()
    Group.objects.all().delete()
    assert run_script(fail).state == State.READY
    assert not Group.objects.exists()


def test_a_statement_outside_a_transaction_opens_none() -> None:
    run_script(lambda job: None)
    sql("SELECT 1")
    assert connection.connection.info.transaction_status.name == "IDLE"


def test_a_project_that_binds_on_the_server_begins_as_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "server_side_binding", True)
    try:
        with asked(tmp_path / "told") as messages:
            assert run_script(lambda job: sql("SELECT %s", 1) and None).state == State.SUCCEEDED
        assert any(re.search(r'"BEGIN[^;]*"$', each.strip()) for each in messages)
    finally:
        connection.close()


def test_a_cancel_that_comes_before_the_transaction_has_begun_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow_to_read = f"SELECT 1 WHERE 1 IN ({','.join(['1'] * 1_000_000)})"

    def canceled(job: JobContext) -> None:
        with pytest.raises(DatabaseError) as raised:
            sql(slow_to_read)
        assert raised.value.__cause__.sqlstate == "57014"
        assert connection.connection.info.transaction_status.name == "INERROR"

    sql("SET statement_timeout = '50ms'")
    try:
        assert run_script(canceled).state == State.READY
    finally:
        sql("RESET statement_timeout")


def test_a_cursor_factory_that_is_no_class_is_left_alone() -> None:
    begin("default")
    plain = connection.connection.cursor_factory

    def made(*given: Any, **named: Any) -> Any:
        return plain(*given, **named)

    connection.connection.cursor_factory = made
    try:
        assert run_script(lambda job: sql("SELECT 1") and None).state == State.SUCCEEDED
        assert connection.connection.cursor_factory is made
    finally:
        connection.close()


def test_a_class_of_cursors_made_for_one_connection_goes_with_it() -> None:
    begin("default")
    held = connection.connection
    gone = []
    for number in range(3):
        held.cursor_factory = type(f"Traced{number}", (ClientCursor,), {})
        gone.append(weakref.ref(held.cursor_factory))
        begin("default")
        assert issubclass(held.cursor_factory, Opening)
    connection.close()
    del held
    gc.collect()
    assert [each() for each in gone[:-1]] == [None, None]
