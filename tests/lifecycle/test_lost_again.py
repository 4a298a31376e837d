"""A handler that ends its own session each time pays for it in the end; a server that restarts costs nothing."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from hubqueue.api import Done, JobContext, Result
from hubqueue.lifecycle.losses import IN_A_ROW
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Failure, Job
from hubqueue.states import State
from tests.support.cut import lose_the_next_commit, session_of_the_queue
from tests.support.evloop import event_loop
from tests.support.handlers import script, scripted, scripted_detached
from tests.support.rows import now, run_one

pytestmark = pytest.mark.django_db(transaction=True)
LOST = ("connection_lost", False)
SPENT = ("connection_lost", True)


@pytest.fixture
def standing() -> Iterator[None]:
    """It stands all the while."""
    with session_of_the_queue():
        yield


def end_own_session(job: JobContext | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def lost_before(job_id: object, times: int = IN_A_ROW - 1, **values: Any) -> None:
    """So many attempts lost their connection before this one."""
    moment = now()
    row = {
        "attempt": 1,
        "code": LOST[0],
        "spent": LOST[1],
        "started_at": moment,
        "failed_at": moment,
    }
    Failure.objects.bulk_create(Failure(job_id=job_id, **row | values) for _ in range(times))


def one_round() -> Settled:
    """Run the job once more, as if its moment had come, and store what is owed."""
    Job.objects.update(run_at=now() - timedelta(seconds=1))
    outcome = run_one()
    for _ in range(2 * IN_A_ROW):
        if isinstance(outcome, Settled):
            return outcome
        assert isinstance(outcome, Owed)
        outcome = pay(outcome)
    raise AssertionError("it is owed for ever")


def history() -> list[tuple[str, bool]]:
    return list(Failure.objects.order_by("id").values_list("code", "spent"))


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize("each", [scripted, scripted_detached])
def test_a_handler_that_ends_its_own_session_each_time_spends_an_attempt_in_the_end(
    each: Any,
) -> None:
    with script(end_own_session) as name:
        each.enqueue(script=name)
        for _ in range(IN_A_ROW - 1):
            assert one_round().attempts == 0
        settled = one_round()
    assert (settled.state, settled.attempts) == (State.READY, 1)
    assert history() == [LOST] * (IN_A_ROW - 1) + [SPENT]
    spent = Failure.objects.get(spent=True)
    assert "end_own_session" in {frame["function"] for frame in spent.frames}


@pytest.mark.usefixtures("standing")
def test_it_ends_as_a_dead_letter_that_says_so() -> None:
    with script(end_own_session) as name:
        lost_before(scripted.enqueue(script=name).id, attempt=3)
        Job.objects.update(attempts=2)  # of three
        settled = one_round()
    job = Job.objects.get()
    assert (settled.state, job.state, job.error_code) == (State.DEAD, State.DEAD, "connection_lost")


@pytest.mark.usefixtures("standing")
def test_so_does_an_async_handler() -> None:
    async def loses(job: JobContext) -> None:
        await sync_to_async(lost_before)(job.id)
        await sync_to_async(end_own_session)()

    with event_loop() as loop:
        settled = loop.run(loses, max_attempts=3)
    assert (settled.state, settled.attempts) == (State.READY, 1)


@pytest.mark.usefixtures("standing")
def test_so_does_a_session_that_ends_at_each_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    lost_before(scripted.enqueue().id)
    lose_the_next_commit(monkeypatch, after=False)
    assert one_round().attempts == 1
    assert history()[-1] == SPENT


@pytest.mark.usefixtures("standing")
def test_a_record_that_ends_its_session_each_time_is_not_owed_for_ever() -> None:
    ran: list[int] = []

    def work(job: JobContext) -> Result:
        ran.append(1)
        return Done(record=end_own_session)

    with script(work) as name:
        scripted_detached.enqueue(script=name)
        settled = one_round()
    assert (settled.state, settled.attempts, ran) == (State.READY, 1, [1])
    assert history() == [SPENT]


def test_a_server_that_restarts_each_time_spends_none() -> None:
    def restarts(job: JobContext) -> None:
        """The server ends every session, those of the queue too."""
        session.close()
        end_own_session()

    with script(restarts) as name:
        scripted.enqueue(script=name)
        for _ in range(IN_A_ROW + 2):
            session = session_of_the_queue()
            assert one_round().attempts == 0
        session.close()
    assert set(history()) == {LOST}


@pytest.mark.usefixtures("standing")
@pytest.mark.parametrize(
    "before",
    [
        partial(lost_before, times=IN_A_ROW - 2),
        lambda job_id: (lost_before(job_id, 1, spent=True), lost_before(job_id, IN_A_ROW - 2)),
        lambda job_id: (lost_before(job_id), lost_before(job_id, 1, code="row_busy")),
        lambda job_id: lost_before(job_id, failed_at=now() - timedelta(days=3)),
    ],
    ids=["fewer", "one was spent", "the last had another cause", "long ago"],
)
def test_what_is_no_row_of_losses_spends_none(before: Callable[[object], object]) -> None:
    with script(end_own_session) as name:
        before(scripted.enqueue(script=name).id)
        assert one_round().attempts == 0
