"""Progress that could not be written in its round waits for the next one, unless it is out of date by then."""

from time import monotonic
from uuid import uuid4

from hubqueue.runner.crew import Crew, InFlight

JOB, FENCE = uuid4(), 7
RUNNING = [{JOB: InFlight(FENCE, monotonic() + 60)}]


def told() -> tuple[Crew, list]:
    crew = Crew()
    crew.add_share(JOB, FENCE, 0.5)
    return crew, crew.take_shares()


def test_a_share_that_was_not_written_is_kept() -> None:
    crew, shares = told()
    assert crew.take_shares() == []
    crew.give_back(shares, RUNNING)
    assert crew.take_shares() == [(JOB, FENCE, 0.5)]


def test_a_newer_share_counts() -> None:
    crew, shares = told()
    crew.add_share(JOB, FENCE, 0.75)
    crew.give_back(shares, RUNNING)
    assert crew.take_shares() == [(JOB, FENCE, 0.75)]


def test_a_share_of_an_attempt_that_ended_is_dropped() -> None:
    crew, shares = told()
    crew.give_back(shares, [{JOB: InFlight(FENCE + 1, monotonic() + 60)}])
    assert crew.take_shares() == []
