"""A session that the server ended while nobody used it costs no job a failure: the next attempt opens another."""

from collections.abc import Callable
from contextlib import suppress
from select import select
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import Error, connection, transaction

from hubqueue.api import JobContext
from hubqueue.lifecycle import connections
from hubqueue.lifecycle.connections import begin
from hubqueue.lifecycle.grouped import run_together
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import Settled, succeed
from hubqueue.models import Failure
from hubqueue.states import State
from tests.support.cut import cut
from tests.support.handlers import script, scripted, scripted_detached
from tests.support.rival import Rival
from tests.support.rows import attempt_of, claim_all, claim_one
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session was idle for long."""
    monkeypatch.setattr(connections, "IDLE_FOR", 0.0)


def write(job: JobContext) -> None:
    Group.objects.create(name=str(job.id))


def write_fenced(job: JobContext) -> None:
    with job.transaction():
        write(job)


def served_by() -> int:
    return int(connection.connection.info.backend_pid)


@pytest.mark.parametrize(
    ("each", "work"),
    [(scripted, write), (scripted_detached, write), (scripted_detached, write_fenced)],
)
def test_an_attempt_that_begins_after_it_succeeds(each: Any, work: Callable[..., Any]) -> None:
    with script(work) as name:
        each.enqueue(script=name)
        attempt = attempt_of(claim_one())
        cut()
        settled = run(attempt)
    assert isinstance(settled, Settled)
    assert (settled.state, settled.attempts) == (State.SUCCEEDED, 1)
    assert Group.objects.count() == 1
    assert not Failure.objects.exists()


def test_a_group_that_begins_after_it_is_one_commit_all_the_same() -> None:
    with script(write) as name:
        scripted.enqueue_many([scripted.item(script=name) for _ in range(3)])
        attempts = [attempt_of(each) for each in claim_all()]
        cut()
        outcomes = run_together(attempts, lambda function: function())
    assert outcomes is not None
    assert {each.state for each in outcomes if isinstance(each, Settled)} == {State.SUCCEEDED}
    assert Group.objects.count() == 3


def test_what_is_owed_is_paid_at_once() -> None:
    scripted.enqueue()
    owed = Owed(claim_one(), succeed(), "default")
    cut()
    settled = pay(owed)
    assert isinstance(settled, Settled)
    assert settled.state == State.SUCCEEDED


def test_a_session_that_has_something_to_tell_is_kept_and_tells_it() -> None:
    with connection.cursor() as cursor:
        cursor.execute("LISTEN hubqueue_test")
    before = served_by()
    with script(write) as name:
        scripted.enqueue(script=name)
        attempt = attempt_of(claim_one())
        with Rival() as rival:
            rival.do(lambda: connection.cursor().execute("NOTIFY hubqueue_test, 'x'"))
        until(lambda: select([connection.connection], [], [], 0)[0], message="word from the server")
        run(attempt)
    assert served_by() == before
    told = list(connection.connection.notifies(timeout=5, stop_after=1))
    assert [each.payload for each in told] == ["x"]


@pytest.mark.parametrize("found", [False, True])
def test_a_session_inside_a_transaction_is_left_alone(found: bool) -> None:
    """A job run in place belongs to the transaction around it: that one is lost, and says so."""
    with pytest.raises(Error), transaction.atomic():
        Group.objects.create(name="around")
        ended = connection.connection
        cut()
        if found:
            with suppress(Error), connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        begin("default")
        assert connection.connection is ended
        Group.objects.create(name="lost")
    assert not Group.objects.exists()


def test_what_a_handler_wrote_before_it_lost_its_session_is_not_left_out_of_a_success() -> None:
    """Not even where it swallows the loss, and goes on in a block of its own."""

    def work(job: JobContext) -> None:
        Group.objects.create(name="first")
        cut()
        with suppress(Error):
            Group.objects.exists()
        write_fenced(job)

    with script(work) as name:
        scripted.enqueue(script=name)
        settled = run(attempt_of(claim_one()))
    settled = pay(settled) if isinstance(settled, Owed) else settled
    assert isinstance(settled, Settled)
    assert settled.state == State.READY
    assert not Group.objects.exists()
