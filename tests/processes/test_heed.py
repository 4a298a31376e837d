"""A child heeds a bell before it looks at anything else, and leaves to its next look what it did not foresee."""

from collections.abc import Iterator, Sequence
from select import select
from uuid import uuid4

import pytest

from hubqueue.lifecycle.claim import Lane
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.ring import notify
from hubqueue.runner.doorbell import Doorbell
from hubqueue.runner.heed import Heed
from hubqueue.runner.pace import Pace
from tests.support.intakes import intake_of, no_hands
from tests.support.rows import make_job

pytestmark = pytest.mark.django_db(transaction=True)

SLOWEST = 3600.0


class Child:
    """What a loop has of a child that waits: nothing but a bell makes it look within an hour."""

    def __init__(self) -> None:
        self.bell = Doorbell(["default", "mail"], "heed-test")
        assert self.bell.tend()
        self.hands = no_hands()
        self.intake = intake_of(uuid4(), Lane("default", 0), Lane("mail", 0), hands=self.hands)
        self.pace, self.other = Pace(SLOWEST), Pace(SLOWEST)
        self.claimed: list[Claimed] = []
        self.heed = Heed(
            self.bell,
            self.intake,
            self.hands,
            pace=self.pace,
            others=[self.other],
            hand_out=self.take,
        )
        for each in (self.pace, self.other):
            while each.left < SLOWEST / 2:
                each.found_nothing()

    def take(self, claimed: Sequence[Claimed]) -> None:
        self.claimed += claimed

    def hear(self, *queues: str) -> None:
        """One bell for all of these at once, and what is done about it."""
        notify(queues, using="default")
        assert select([self.bell], [], [], 30)[0]
        self.heed.now()


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child()
    yield made
    made.bell.close()


def test_what_the_bell_rang_for_is_claimed_at_once_and_everything_is_looked_at_soon(
    child: Child,
) -> None:
    job = make_job(queue="mail")
    make_job()
    child.intake.foresee(at_most=None)
    child.hear("mail")
    assert [each.id for each in child.claimed] == [job.pk]
    assert 0 < child.pace.left <= 0.01
    assert child.other.left == 0


def test_a_bell_for_what_somebody_else_took_is_heeded_and_everything_is_looked_at_soon(
    child: Child,
) -> None:
    child.intake.foresee(at_most=None)
    child.hear("mail")
    assert child.claimed == []
    assert 0 < child.pace.left <= 0.04


def test_bells_of_several_queues_are_left_to_a_look_at_once(child: Child) -> None:
    make_job(queue="mail")
    child.intake.foresee(at_most=None)
    child.hear("mail", "default")
    assert child.claimed == []
    assert (child.pace.left, child.other.left) == (0, 0)


def test_a_bell_that_nothing_was_foreseen_for_is_left_to_a_look_at_once(child: Child) -> None:
    make_job()
    child.intake.foresee(at_most=0)
    child.hear("default")
    assert child.claimed == []
    assert (child.pace.left, child.other.left) == (0, 0)


def test_where_the_bell_brought_as_much_as_there_was_room_for_everything_is_looked_at_at_once(
    child: Child,
) -> None:
    for _ in range(5):
        make_job()
    child.intake.foresee(at_most=None)
    child.hear("default")
    assert len(child.claimed) == 4
    assert child.pace.left == 0


def test_what_rang_while_nobody_waited_is_left_to_the_next_look(child: Child) -> None:
    make_job()
    child.intake.foresee(at_most=None)
    notify(["default"], using="default")
    assert select([child.bell], [], [], 30)[0]
    child.heed.later()
    assert child.claimed == []
    assert (child.pace.left, child.other.left) == (0, 0)
