"""The loop of a child, with all that a child has but its supervisor: what it does between one job and the next."""

import os
import socket
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, connections

from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.ring import notify
from hubqueue.runner.board import open_board
from hubqueue.runner.loop import Loop
from hubqueue.runner.wire import Wire
from tests.support.handlers import SCRIPTS, scripted
from tests.support.rows import make_job
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

FEW = 50  # turns of the loop in a second; one that does not wait makes thousands


class Counted(Loop):
    """Counts how often it waited."""

    turns = 0

    def _wait(self) -> bool:
        self.turns += 1
        return super()._wait()


class Child:
    """A loop in a thread, until it ends by itself or is closed."""

    def __init__(self, *, max_jobs: int = 0, max_memory: int = 0) -> None:
        mine, other = socket.socketpair()
        self.wires = Wire(mine), Wire(other)
        board, descriptor = open_board(16)
        os.close(descriptor)
        self.loop = Counted(
            uuid4(),
            self.wires[0],
            caps={"default": 0},
            threads=2,
            async_jobs=1,
            solo=False,
            max_jobs=max_jobs,
            max_memory=max_memory,
            using="default",
            name="loop-test",
            board=board,
        )
        self.began, self.may_end = Event(), Event()
        SCRIPTS["loop"] = self._script
        self._thread = Thread(target=self._run)
        self._thread.start()
        until(lambda: self.loop.member.registered and self.loop.bell.listening)

    def _script(self, context: JobContext) -> None:
        self.began.set()
        self.may_end.wait(60)

    def _run(self) -> None:
        try:
            self.loop.run()
        finally:
            connections.close_all()

    def ring_for_a_job(self) -> None:
        make_job(kind=scripted.kind, payload={"script": "loop"})
        notify(["default"], using="default")

    def turns_in_a_second(self) -> int:
        """From one word to the supervisor to the next."""
        self._await_word()
        self._await_word()
        before = self.loop.turns
        self._await_word()
        return self.loop.turns - before

    def _await_word(self) -> None:
        until(lambda: any("alive" in said for said in self.wires[1].receive()), interval=0.001)

    def close(self) -> None:
        self.may_end.set()
        self.loop.drain()
        self._thread.join(60)
        for wire in self.wires:
            wire.close()


@pytest.fixture
def children() -> Iterator[list[Child]]:
    made: list[Child] = []
    yield made
    for each in made:
        each.close()


@pytest.mark.parametrize("bound", [{"max_jobs": 1}, {"max_memory": 10**15}, {}], ids=str)
def test_a_child_that_takes_no_more_waits_for_what_runs_without_turning(
    children: list[Child], bound: dict[str, Any]
) -> None:
    child = Child(**bound)
    children.append(child)
    child.ring_for_a_job()
    assert child.began.wait(30)
    if "max_memory" in bound:
        child.loop.span._max_memory = 1
    if not bound:
        child.loop.drain()
    assert child.turns_in_a_second() < FEW
    assert child.loop.draining


def test_a_child_that_waits_for_work_does_not_turn(children: list[Child]) -> None:
    child = Child()
    children.append(child)
    assert child.turns_in_a_second() < FEW


def test_a_bell_over_a_session_that_has_ended_is_heeded_at_the_next_look_and_that_is_soon(
    children: list[Child],
) -> None:
    child = Child()
    children.append(child)
    for pace in (child.loop.pace, child.loop.async_intake.pace):
        while pace.left < 0.8 * pace.slowest:
            pace.found_nothing()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND application_name <> 'loop-test' AND backend_type = 'client backend'"
        )
        assert cursor.fetchall()
    child.ring_for_a_job()
    assert child.began.wait(child.loop.pace.slowest / 2)
