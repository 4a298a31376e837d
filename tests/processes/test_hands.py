"""The threads of a child: who is woken for work, and what one does that hears of work to come."""

import os
from collections.abc import Callable, Iterator
from threading import Barrier, current_thread
from threading import enumerate as threads

import pytest
from django.db import connection

from hubqueue.lifecycle.context import JobContext
from hubqueue.models import Job
from hubqueue.registry import registry
from hubqueue.runner.board import open_board
from hubqueue.runner.flight import Flight
from hubqueue.runner.hands import Batch, Hands, Running
from hubqueue.states import State
from tests.support.handlers import SCRIPTS, scripted
from tests.support.rows import claim_one, make_job
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 3


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


class Crew:
    """Hands with all that a child gives them. ``ran`` has the thread of each job, ``sessions`` its backend."""

    def __init__(self) -> None:
        board, descriptor = open_board(8)
        os.close(descriptor)
        self.flight = Flight(board, using="default", settled=lambda: None)
        self.hands = Hands(COUNT, using="default", flight=self.flight, freed=lambda batch: None)
        self.ran: list[str] = []
        self.sessions: list[int] = []
        until(lambda: self.idle == COUNT)

    @property
    def idle(self) -> int:
        return len(self.hands._beds)

    def do(self, meanwhile: Callable[[], None] = lambda: None) -> Job:
        """Give one job to a thread, and wait until it is idle again."""
        job = make_job(kind=scripted.kind, payload={"script": "note"})
        self.give(meanwhile)
        until(lambda: not self.hands.batches and self.idle == COUNT)
        return job

    def rouse(self) -> None:
        self.hands.rouse()
        until(lambda: not self.hands._roused and self.idle == COUNT)

    def give(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        def note(context: JobContext) -> None:
            self.ran.append(current_thread().name)
            self.sessions.append(backend())
            meanwhile()

        SCRIPTS["note"] = note
        claimed = claim_one()
        self.hands.take([Batch(registry.handlers[scripted.kind], [Running(claimed)])])


@pytest.fixture
def crew() -> Iterator[Crew]:
    before = set(threads())
    made = Crew()
    yield made
    made.hands.dismiss()
    made.flight.payer.dismiss()
    ended = {each for each in threads() if each.name.startswith("hand-")} - before
    for each in ended:
        each.join(30)


def test_one_job_after_the_other_goes_to_the_same_thread_and_session(crew: Crew) -> None:
    jobs = [crew.do() for _ in range(4)]
    assert len(set(crew.ran)) == 1
    assert len(set(crew.sessions)) == 1
    assert {Job.objects.get(pk=each.pk).state for each in jobs} == {State.SUCCEEDED}


def test_jobs_that_come_together_run_beside_each_other(crew: Crew) -> None:
    together = Barrier(COUNT)
    for _ in range(COUNT):
        make_job(kind=scripted.kind, payload={"script": "note"})
        crew.give(lambda: together.wait(30) and None)
    until(lambda: not crew.hands.batches)
    assert len(set(crew.ran)) == COUNT


def test_a_thread_that_hears_of_work_to_come_is_the_one_that_gets_it(crew: Crew) -> None:
    crew.do()
    crew.rouse()
    crew.do()
    assert len(set(crew.ran)) == 1


def test_a_thread_that_hears_of_work_to_come_replaces_a_session_that_has_ended(crew: Crew) -> None:
    crew.do()
    (ended,) = crew.sessions
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ended])
    crew.rouse()
    crew.do()
    assert crew.sessions[1] != ended


def test_a_thread_without_a_session_opens_none_before_it_has_a_job(crew: Crew) -> None:
    def sessions() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND backend_type = 'client backend'"
            )
            (count,) = cursor.fetchone()
        return int(count)

    before = sessions()
    for _ in range(COUNT):
        crew.rouse()
    assert sessions() == before


def test_work_to_come_that_never_comes_keeps_nobody_from_the_next(crew: Crew) -> None:
    for _ in range(2 * COUNT):
        crew.rouse()
    assert crew.do().pk is not None
    assert len(crew.ran) == 1
