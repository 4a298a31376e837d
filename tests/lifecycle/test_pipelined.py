"""In a pipelined group a statement waits for no answer until one is read, and what is read is right."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import F
from psycopg.pq import PipelineStatus

from hubqueue.api import JobContext, handler
from hubqueue.errors import Interrupted
from hubqueue.lifecycle.connections import begin
from hubqueue.models import Job
from hubqueue.runner.latch import Latch
from hubqueue.states import State
from tests.lifecycle.test_grouped import Script, assert_nothing_happened, note, run_scripts
from tests.support.handlers import scripted
from tests.support.rival import Rival

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _pipelined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "pipeline", True)


@pytest.fixture(autouse=True)
def counted() -> Iterator[None]:
    """A table whose rows have a key that the client gives: nothing is to be read of an insert."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE counted (n int PRIMARY KEY)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE counted")


def insert(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO counted VALUES (%s)", [number])


def numbers() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT n FROM counted ORDER BY n")
        return [n for (n,) in cursor.fetchall()]


def test_the_next_handler_begins_before_a_statement_has_its_answer() -> None:
    with Rival() as rival:
        rival.begin()
        rival.do(partial(insert, 1))

        def meet(job: JobContext) -> None:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '10s'")
            insert(1)  # waits for the rival

        assert run_scripts(meet, lambda job: rival.rollback()) is not None
    assert numbers() == [1]


def read_everything(job: JobContext) -> None:
    insert(7)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE counted SET n = n + 1")
        assert cursor.rowcount == 1
        cursor.execute("DELETE FROM counted WHERE n = 0")
        assert (cursor.rowcount, cursor.cursor.statusmessage) == (0, "DELETE 0")
        cursor.execute("SELECT n AS number FROM counted")
        assert [column.name for column in cursor.description] == ["number"]
        assert cursor.fetchone() == (8,)
        cursor.execute("SELECT n FROM counted")
        assert list(cursor) == [(8,)]
        cursor.executemany("INSERT INTO counted VALUES (%s)", [(1,), (2,)])
        assert cursor.rowcount == 2
    with connection.cursor() as first, connection.cursor() as second:
        first.execute("SELECT 1")
        second.execute("SELECT 2")
        assert (second.fetchone(), first.fetchone()) == ((2,), (1,))
    assert numbers() == [1, 2, 8]


def use_the_models(job: JobContext) -> None:
    made = Group.objects.create(name="one")
    assert made.pk
    assert Group.objects.filter(name="none").update(name="some") == 0
    assert Group.objects.filter(name="one").update(name="two") == 1
    made.name = "three"
    made.save()
    assert Group.objects.get_or_create(name="three") == (made, False)
    assert Group.objects.bulk_create([Group(name="four")])[0].pk
    assert not Group.objects.filter(name="one").exists()
    assert Group.objects.filter(name="four").delete()[0] == 1
    user = User.objects.create(username="someone")
    user.groups.add(made)
    assert User.objects.filter(groups=made).update(first_name=F("username")) == 1
    assert [each.name for each in user.groups.iterator()] == ["three"]
    with pytest.raises(LookupError), transaction.atomic():
        Group.objects.create(name="gone")
        raise LookupError
    assert not Group.objects.filter(name="gone").exists()


@pytest.mark.parametrize("look", [read_everything, use_the_models])
def test_whatever_a_handler_reads_is_the_answer_to_its_statement(look: Script) -> None:
    assert run_scripts(note, look, note) is not None
    assert set(Job.objects.values_list("state", flat=True)) == {State.SUCCEEDED}


def fail_unseen(job: JobContext) -> None:
    insert(1)
    insert(1)


def fail_in_a_savepoint(job: JobContext) -> None:
    try:
        with transaction.atomic():
            insert(1)
            insert(1)
            numbers()
    except IntegrityError:
        insert(2)


def fail_after_a_savepoint(job: JobContext) -> None:
    try:
        with transaction.atomic():
            insert(1)
            insert(1)
        numbers()
    except DatabaseError:
        insert(2)


def swallow_what_is_read(job: JobContext) -> None:
    try:
        numbers()
    except DatabaseError:
        return


@pytest.mark.parametrize("others", [(note, note), (swallow_what_is_read, note)])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("spoiler", [fail_unseen, fail_in_a_savepoint, fail_after_a_savepoint])
def test_an_error_that_comes_late_rolls_all_back_unspent_and_is_not_logged(
    spoiler: Script, place: int, others: tuple[Script, ...], caplog: pytest.LogCaptureFixture
) -> None:
    functions = list(others)
    functions.insert(place, spoiler)
    assert run_scripts(*functions) is None
    assert_nothing_happened()
    assert numbers() == []
    assert "psycopg" not in {each.name for each in caplog.records}


def fail(job: JobContext) -> None:
    insert(1)
    raise LookupError


def end_early(latch: Latch) -> Script:
    def fire(job: JobContext) -> None:
        insert(1)
        latch.fire(Interrupted)

    return fire


@pytest.mark.parametrize("how", ["well", "with an error", "interrupted", "by the server"])
def test_after_the_group_a_session_waits_for_its_answers_again(how: str) -> None:
    begin("default")
    before = connection.connection
    plain = before.cursor_factory
    latch = Latch()
    last: dict[str, Callable[..., Any]] = {
        "well": note,
        "with an error": fail,
        "interrupted": end_early(latch),
        "by the server": lambda job: connection.cursor().execute(
            "SELECT pg_terminate_backend(pg_backend_pid())"
        ),
    }
    run_scripts(note, last[how], call=latch.call)
    begin("default")
    held = connection.connection
    assert (held is before) is (how in ("well", "with an error"))
    assert held.cursor_factory is plain
    assert held.pgconn.pipeline_status == PipelineStatus.OFF
    insert(2)
    with pytest.raises(IntegrityError):
        insert(2)


def test_what_is_no_group_has_no_pipeline() -> None:
    with pytest.raises(ImproperlyConfigured, match="pipeline=True is for a group, got group=1"):
        handler("sample.alone", pipeline=True)
