"""Tests in several processes at once (`-n 2`): who gets which, in what order, and who runs alone.

Each process has a database of its own, and every private server a port of its own. What they share is the
machine: a test that promises how long something takes is marked `alone`, and runs while no other does.
"""

from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from config.embedded import locks
from config.embedded.home import own_directory

# Few and long, and each with its own workers: two processes may share one file of them.
BY_TEST = "tests/processes/"


class Turns:
    """Any number of tests at once, or one that is alone. Who waits to be alone is passed by nobody.

    Kept by file locks, which a killed process lets go too.
    """

    def __init__(self, directory: Path) -> None:
        self._gate = locks.open_lock(directory / "test-gate")
        self._floor = locks.open_lock(directory / "test-floor")
        self._alone = False

    def begin(self, *, alone: bool) -> None:
        """Wait for the turn, as long as it takes."""
        if self._alone and alone:
            return  # its predecessor has kept it
        locks.take(self._gate)
        locks.take(self._floor, shared=not alone)
        locks.release(self._gate)
        self._alone = alone

    def end(self, *, then_alone: bool) -> None:
        """Let the others in, unless the next test here is alone as well."""
        if self._alone and then_alone:
            return
        locks.release(self._floor)
        self._alone = False


class Units(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out whole files, which may have fixtures for all their tests, or single tests."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(BY_TEST) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Units | None:
    """`--dist loadfile` hands out units, in the order of the tests."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Units(config, log)


@pytest.hookimpl(trylast=True)  # what is left, shuffled
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """First who is alone, before anything is left standing; last the slow, those that may take longest ahead."""
    if is_one_of_several(config):
        items.sort(key=_place)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of the timeout: waiting is not the test's
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Each test in its turn."""
    if not is_one_of_several(item.config):
        return (yield)
    turns().begin(alone=is_alone(item))
    try:
        return (yield)
    finally:
        turns().end(then_alone=nextitem is not None and is_alone(nextitem))


def is_one_of_several(config: pytest.Config) -> bool:
    """Whether this process runs tests beside others."""
    return hasattr(config, "workerinput")


def is_alone(item: pytest.Item) -> bool:
    return item.get_closest_marker("alone") is not None


@cache
def turns() -> Turns:
    """Those of this process."""
    return Turns(own_directory())


def _place(item: pytest.Item) -> tuple[int, float]:
    if is_alone(item):
        return 0, 0
    if item.get_closest_marker("slow") is None:
        return 1, 0
    mark = item.get_closest_marker("timeout")
    return 2, -mark.args[0] if mark and mark.args else 0
