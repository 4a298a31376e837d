"""A child may hold the same job again before it has tidied away its last attempt: each attempt is itself."""

import os
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.owed import Owed
from hubqueue.lifecycle.settle import succeed
from hubqueue.registry import registry
from hubqueue.runner import payer as payers
from hubqueue.runner.board import Board, open_board
from hubqueue.runner.flight import Flight
from hubqueue.runner.hands import Batch, Running
from tests.support.handlers import scripted
from tests.support.rows import claim_one, make_job

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def board() -> Board:
    made, descriptor = open_board(4)
    os.close(descriptor)
    return made


@pytest.fixture
def flight(board: Board) -> Iterator[Flight]:
    made = Flight(board, using="default", settled=lambda: None)
    yield made
    made.payer.dismiss()


def begun(flight: Flight, claimed: Claimed) -> Batch:
    batch = Batch(registry.handlers[scripted.kind], [Running(claimed)])
    flight.jobs[claimed.attempt] = batch.running[0]
    flight.begin(batch)
    return batch


def test_the_end_of_an_attempt_leaves_the_next_attempt_of_its_job_in_flight(
    flight: Flight, board: Board
) -> None:
    make_job(kind=scripted.kind)
    first = claim_one()
    again = replace(first, fence=first.fence + 1)
    ended = begun(flight, first)
    begun(flight, again)
    flight.end(ended, [None])
    assert list(flight.jobs) == [again.attempt]
    assert {job: each.fence for job, each in board.read().items()} == {again.id: again.fence}


def test_a_verdict_that_is_stored_leaves_that_of_the_next_attempt_owed(
    flight: Flight, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_job(kind=scripted.kind)
    first = claim_one()
    again = replace(first, fence=first.fence + 1)

    def store(batch: list[Owed], *, using: str) -> list[tuple[Owed, None]]:
        flight.payer._unpaid[again.attempt] = Owed(again, succeed(), "default")
        return [(owed, None) for owed in batch]

    monkeypatch.setattr(payers, "pay_together", store)
    flight.payer._store([Owed(first, succeed(), "default")])
    assert flight.payer.unpaid == [again.id]
