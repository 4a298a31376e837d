"""Tests beside each other take turns with those that must be alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.support.side_by_side import Turns
from tests.support.wait import until


class Beside:
    """A process that runs tests, as a thread; each begins when it may."""

    def __init__(self, directory: Path) -> None:
        self.turns = Turns(directory)
        self.runs = False
        self.waiting: Thread

    def begin(self, *, alone: bool) -> None:
        def wait_for_the_turn() -> None:
            self.turns.begin(alone=alone)
            self.runs = True

        self.waiting = Thread(target=wait_for_the_turn, daemon=True)
        self.waiting.start()

    def end(self, *, then_alone: bool = False) -> None:
        self.turns.end(then_alone=then_alone)
        self.runs = False

    def comes_to_run(self) -> None:
        until(lambda: self.runs, message="its turn")

    def still_waits(self) -> bool:
        self.waiting.join(0.05)
        return self.waiting.is_alive()


@pytest.fixture
def three(tmp_path: Path) -> list[Beside]:
    return [Beside(tmp_path) for _ in range(3)]


@contextmanager
def running(one: Beside, *, alone: bool) -> Iterator[None]:
    one.begin(alone=alone)
    one.comes_to_run()
    yield
    one.end()


def test_others_run_at_once(three: list[Beside]) -> None:
    one, two, _ = three
    with running(one, alone=False), running(two, alone=False):
        assert one.runs
        assert two.runs


def test_who_is_alone_waits_for_the_others_and_is_passed_by_nobody(three: list[Beside]) -> None:
    one, two, last = three
    with running(one, alone=False):
        two.begin(alone=True)
        assert two.still_waits()
        last.begin(alone=False)
        assert last.still_waits()
    two.comes_to_run()
    assert last.still_waits()
    two.end()
    last.comes_to_run()
    last.end()


def test_the_next_that_is_alone_in_a_process_follows_at_once(three: list[Beside]) -> None:
    one, two, _ = three
    one.begin(alone=True)
    one.comes_to_run()
    two.begin(alone=False)
    one.end(then_alone=True)
    assert two.still_waits()
    one.begin(alone=True)
    one.comes_to_run()
    assert two.still_waits()
    one.end()
    two.comes_to_run()
    two.end()


def test_who_is_followed_by_others_lets_them_in(three: list[Beside]) -> None:
    one, two, _ = three
    with running(one, alone=True):
        pass
    with running(two, alone=False), running(one, alone=False):
        pass
