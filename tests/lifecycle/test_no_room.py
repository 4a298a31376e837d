"""A server without room for the end of an attempt: nobody's failure, nothing spent, and the end comes later."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from hubqueue.api import Dead, Done, JobContext
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.models import Failure, Job
from hubqueue.states import State
from tests.support.handlers import script, scripted, scripted_detached
from tests.support.rows import run_one

pytestmark = pytest.mark.django_db(transaction=True)

Fill = Callable[[str, str], None]
REFUSE = """
CREATE OR REPLACE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$
"""


def run_sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def make_room() -> None:
    for table in ("hubqueue_job", "hubqueue_failure", "auth_group"):
        run_sql(f"DROP TRIGGER IF EXISTS no_room ON {table}")


@pytest.fixture
def fill() -> Iterator[Fill]:
    """``fill("INSERT ON auth_group", "true")``: from now on the server has no room for that."""

    def refuse(what: str, when: str) -> None:
        run_sql(
            f"CREATE TRIGGER no_room BEFORE {what} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION no_room()"
        )

    run_sql(REFUSE)
    yield refuse
    make_room()


def note(job: JobContext) -> None:
    Group.objects.create(name=str(job.id))


def paid(owed: object) -> None:
    """It is not stored while there is no room, and is once there is."""
    assert isinstance(owed, Owed)
    assert pay(owed) == owed
    make_room()
    assert not isinstance(pay(owed), Owed)


def test_a_transactional_attempt_is_handed_back_unspent_for_later(fill: Fill) -> None:
    with script(note) as name:
        scripted.enqueue(script=name)
        fill("UPDATE ON hubqueue_job", "NEW.state <> 'RUNNING'")
        paid(run_one())
    job = Job.objects.get()
    assert (job.state, job.attempts, job.run_at > job.created_at) == (State.READY, 0, True)
    assert list(Failure.objects.values_list("code", "spent")) == [("no_room", False)]
    assert not Group.objects.exists()


def test_a_detached_attempt_keeps_its_work_and_its_record(fill: Fill) -> None:
    ran = []

    def work(job: JobContext) -> Done:
        ran.append(job.attempt)
        return Done(record=lambda: note(job))

    with script(work) as name:
        scripted_detached.enqueue(script=name)
        fill("INSERT ON auth_group", "true")
        paid(run_one())
    assert (Job.objects.get().state, ran, Group.objects.count()) == (State.SUCCEEDED, [1], 1)
    assert not Failure.objects.exists()


def test_a_failed_attempt_keeps_its_own_cause_while_the_history_is_full(fill: Fill) -> None:
    with script(lambda job: Dead("as_asked")) as name:
        scripted_detached.enqueue(script=name)
        fill("INSERT ON hubqueue_failure", "true")
        paid(run_one())
    assert Job.objects.get().state == State.DEAD
    assert Failure.objects.get().code == "as_asked"


def test_a_handlers_own_write_without_room_is_its_failure(fill: Fill) -> None:
    with script(note) as name:
        scripted.enqueue(script=name)
        fill("INSERT ON auth_group", "true")
        run_one()
    assert (Job.objects.get().state, Job.objects.get().attempts) == (State.READY, 1)
    assert Failure.objects.values_list("code", "sqlstate", "spent").get() == (
        "database_error",
        "53100",
        True,
    )
