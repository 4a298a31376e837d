"""How often a worker looks for work: quick where it found some, and slow where a bell rang for somebody else."""

import pytest

from hubqueue.runner import pace as pacing
from hubqueue.runner.pace import Pace

SLOWEST = 5.0


class Clock:
    """A clock that stands until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pacing, "monotonic", made)
    return made


def looks(pace: Pace, clock: Clock, seconds: float) -> int:
    """How many looks in vain fall into so many seconds."""
    end = clock.now + seconds
    count = 0
    while clock.now + pace.left <= end:
        clock.now += pace.left
        pace.found_nothing()
        count += 1
    clock.now = end
    return count


def test_a_worker_that_has_nothing_to_do_looks_ever_more_rarely(clock: Clock) -> None:
    pace = Pace(SLOWEST)
    looks(pace, clock, 60)
    assert looks(pace, clock, 60) <= 60 / (SLOWEST * 0.75) + 1


def test_after_a_bell_for_somebody_else_it_looks_a_few_times_and_is_slow_again(
    clock: Clock,
) -> None:
    pace = Pace(SLOWEST)
    looks(pace, clock, 60)
    pace.rang()
    assert pace.left == 0
    assert looks(pace, clock, 1) <= 3
    assert looks(pace, clock, 60) <= 60 / (SLOWEST * 0.75) + 2


def test_what_falls_into_the_quiet_time_of_the_bells_is_found_soon(clock: Clock) -> None:
    pace = Pace(SLOWEST)
    looks(pace, clock, 60)
    pace.rang()
    pace.found_nothing()
    assert 0.020 < pace.left <= 0.050


def test_a_bell_slows_nobody_who_has_work(clock: Clock) -> None:
    pace = Pace(SLOWEST)
    pace.now()
    pace.rang()
    pace.found_nothing()
    assert pace.left <= 0.0125


def test_a_bell_that_is_heeded_hastens_the_look_at_the_others_and_never_puts_it_off(
    clock: Clock,
) -> None:
    pace = Pace(SLOWEST)
    looks(pace, clock, 60)
    pace.found_nothing()
    assert pace.left > 1
    for _ in range(20):
        pace.rang(heeded=True)
        clock.now += 0.005
    assert pace.left == 0


def test_what_bells_bring_again_and_again_never_puts_off_the_look_at_the_others(
    clock: Clock,
) -> None:
    pace = Pace(SLOWEST)
    looks(pace, clock, 60)
    pace.found_nothing()
    for _ in range(5):
        pace.rang(heeded=True)
        pace.found_all(everywhere=False)
        clock.now += 0.005
    assert pace.left == 0


def test_after_something_was_found_everywhere_it_looks_again_soon_and_not_at_once(
    clock: Clock,
) -> None:
    pace = Pace(SLOWEST)
    looks(pace, clock, 60)
    pace.found_all(everywhere=True)
    assert 0 < pace.left <= 0.010
    assert looks(pace, clock, 1) >= 3
