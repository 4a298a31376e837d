"""What a child holds and never heard of goes back, unspent; what it knows, or has just ended, is left alone."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest

from hubqueue.lifecycle.run import run
from hubqueue.models import Job
from hubqueue.runner.recall import recall
from hubqueue.signals import lease_lost
from hubqueue.states import State
from tests.support.handlers import scripted
from tests.support.rows import attempt_of, claim_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def lost() -> Iterator[list[object]]:
    """Every attempt that was told that it lost its job."""
    told: list[object] = []

    def note(**values: object) -> None:
        told.append(values)

    lease_lost.connect(note)
    yield told
    lease_lost.disconnect(note)


def test_a_stray_goes_back_unspent_and_what_is_known_stays(lost: list[object]) -> None:
    worker = uuid4()
    for _ in range(2):
        scripted.enqueue()
    stray, ours = claim_all(2, worker=worker)
    assert recall(worker, lambda: {ours.id}, using="default") == []
    rows = Job.objects.in_bulk()
    assert (rows[stray.id].state, rows[stray.id].attempts) == (State.READY, 0)
    assert rows[ours.id].state == State.RUNNING
    assert lost == []


def test_what_ends_while_the_rows_are_read_is_no_stray(lost: list[object]) -> None:
    worker = uuid4()
    scripted.enqueue()
    (ours,) = claim_all(1, worker=worker)
    answers = iter([{ours.id}, set[UUID]()])

    def known() -> set[UUID]:
        answer = next(answers)
        if not answer:
            run(attempt_of(ours))
        return answer

    assert recall(worker, known, using="default") == []
    assert Job.objects.get().state == State.SUCCEEDED
    assert lost == []
