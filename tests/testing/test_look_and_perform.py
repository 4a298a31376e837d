"""enqueued, assert_enqueued, perform, move_clock."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection, transaction

from hubqueue.api import Done, JobContext, PayloadRefused, Result
from hubqueue.models import Job
from hubqueue.querysets import database_now
from hubqueue.testing import (
    assert_enqueued,
    assert_not_enqueued,
    clock_environment,
    enqueued,
    move_clock,
    perform,
    run_due_jobs,
)
from tests.conftest import CHECKOUT
from tests.support.handlers import (
    Box,
    Colour,
    mailed,
    script,
    scripted,
    scripted_detached,
    typed,
)

pytestmark = pytest.mark.django_db


def test_enqueued_lists_unfinished_jobs_oldest_first() -> None:
    first = mailed.enqueue(to="a").id
    second = scripted.enqueue().id
    third = mailed.using(run_at=datetime(2999, 1, 1, tzinfo=UTC)).enqueue(to="b").id
    assert [job.id for job in enqueued()] == [first, second, third]
    assert [job.id for job in enqueued(mailed)] == [first, third]
    assert [job.id for job in enqueued("sample.scripted")] == [second]
    run_due_jobs()
    assert [job.id for job in enqueued()] == [third]


def test_assert_enqueued_compares_what_the_handler_will_get() -> None:
    box = Box(3, "x")
    job_id = typed.enqueue(box=box, price=Decimal("1.10"), colour=Colour.RED).id
    assert assert_enqueued(typed, box=box, price=Decimal("1.10")).id == job_id
    assert assert_enqueued(typed).id == job_id


def test_assert_enqueued_says_what_it_found_instead() -> None:
    mailed.enqueue(to="a")
    with pytest.raises(AssertionError, match=r"expected one unfinished sample\.mailed with to='b'"):
        assert_enqueued(mailed, to="b")
    mailed.enqueue(to="a")
    with pytest.raises(AssertionError, match="found 2 such jobs"):
        assert_enqueued(mailed, to="a")
    with pytest.raises(TypeError, match="takes no argument 'too'"):
        assert_enqueued(mailed, too="b")


def test_assert_not_enqueued_is_the_opposite() -> None:
    mailed.enqueue(to="a")
    assert_not_enqueued(mailed, to="b")
    with pytest.raises(AssertionError, match="found 1"):
        assert_not_enqueued(mailed, to="a")


@pytest.mark.parametrize("each", [scripted, scripted_detached])
def test_perform_gives_the_handler_a_real_job_and_leaves_none(each: object) -> None:
    seen: list[object] = []

    def look(job: JobContext) -> Result:
        with job.transaction():
            Group.objects.create(name="written")
        seen.append((job.tenant, job.attempt, job.queue, Job.objects.get(pk=job.id).state))
        return Done({"n": 1})

    with script(look) as name:
        answer = perform(each, tenant=7, attempt=2, script=name)

    assert answer == Done({"n": 1})
    assert seen == [("7", 2, "default", "RUNNING")]
    assert Group.objects.filter(name="written").exists()
    assert not Job.objects.exists()


def test_perform_takes_arguments_through_json_and_refuses_like_enqueue() -> None:
    assert perform(typed, uuid=uuid4(), price=Decimal("1.10")) == Done()
    with pytest.raises(PayloadRefused, match="text"):
        perform(typed, text="nul \x00")


@pytest.mark.parametrize("each", [scripted, scripted_detached])
def test_perform_raises_what_the_handler_raises(each: object) -> None:
    def fail(job: JobContext) -> None:
        with transaction.atomic():
            Group.objects.create(name="half")
            raise LookupError("mine")

    with script(fail) as name, pytest.raises(LookupError, match="mine"):
        perform(each, script=name)
    assert not Group.objects.exists()
    assert not Job.objects.exists()


def test_perform_survives_a_broken_statement_of_a_detached_handler() -> None:
    Group.objects.create(name="taken")
    with (
        script(lambda job: Group.objects.create(name="taken") and None) as name,
        pytest.raises(DatabaseError),
    ):
        perform(scripted_detached, script=name)
    assert not Job.objects.exists()


def test_move_clock_moves_this_connection_and_adds_up() -> None:
    real = database_now("default")
    with move_clock(timedelta(hours=1)):
        with move_clock(timedelta(minutes=-10)):
            assert timedelta(minutes=49) < database_now("default") - real < timedelta(minutes=51)
        assert timedelta(minutes=59) < database_now("default") - real < timedelta(minutes=61)
    assert database_now("default") - real < timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)
def test_move_clock_is_restored_after_an_error_in_a_transaction() -> None:
    real = database_now("default")
    with pytest.raises(DatabaseError), transaction.atomic(), move_clock(timedelta(days=1)):
        connection.cursor().execute("SELECT 1 / 0")
    with pytest.raises(DatabaseError), move_clock(timedelta(days=1)), transaction.atomic():
        connection.cursor().execute("SELECT 1 / 0")
    assert database_now("default") - real < timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)
def test_clock_environment_moves_a_process(process_env: dict[str, str]) -> None:
    code = (
        "import django; django.setup()\n"
        "from hubqueue.querysets import database_now\n"
        "print(database_now('default').isoformat())"
    )
    moved = subprocess.run(
        [sys.executable, "-c", code],
        env={**process_env, **clock_environment(timedelta(days=400))},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    ahead = datetime.fromisoformat(moved.stdout.strip()) - database_now("default")
    assert timedelta(days=399) < ahead < timedelta(days=401)
