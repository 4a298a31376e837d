"""The threads of a child: who is woken for work, and what one does that hears of work to come."""

import os
from collections.abc import Callable, Iterator
from threading import current_thread, enumerate as threads

import pytest
from django.db import connection, connections

from hubqueue.models import Job
from hubqueue.registry import registry
from hubqueue.runner.board import open_board
from hubqueue.runner.flight import Flight
from hubqueue.runner.hands import Batch, Hands, Running
from hubqueue.states import State
from tests.support.handlers import script, scripted
from tests.support.rows import claim_one, make_job
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 3


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
        job = make_job(kind=scripted.kind)
        self.give(meanwhile)
        until(lambda: not self.hands.batches and self.idle == COUNT)
        return job

    def give(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        def note(context: object) -> None:
            self.ran.append(current_thread().name)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                self.sessions.append(cursor.fetchone()[0])
            meanwhile()

        script(note)
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
