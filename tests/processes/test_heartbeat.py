"""What a renewal round tells the children about their jobs."""

import os
from datetime import timedelta
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import pytest

from hubqueue.runner import heartbeat as rounds
from hubqueue.runner.board import open_board
from hubqueue.runner.crew import Child, Crew
from hubqueue.runner.heartbeat import Heartbeat
from hubqueue.states import State
from tests.support.rows import make_job


class Wire:
    """Remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)


def child(worker: UUID, fence: int) -> tuple[Child, Wire]:
    wire = Wire()
    job = make_job(State.RUNNING, claimed_by=worker)
    board, descriptor = open_board(1)
    os.close(descriptor)
    board.put(job.pk, fence, monotonic() + 60)
    made = Child(worker, 0, "worker", None, wire, board, registered=True)  # type: ignore[arg-type]
    return made, wire


@pytest.mark.django_db
def test_a_child_that_registers_during_a_round_is_not_told_that_its_jobs_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crew = Crew()
    (old, told_old), (new, told_new) = child(uuid4(), 8), child(uuid4(), 7)
    crew.children.append(old)

    def renew(workers: list[UUID], *, lease: timedelta, using: str) -> set[UUID]:
        crew.children.append(new)
        return set(workers)

    monkeypatch.setattr(rounds, "renew", renew)
    Heartbeat(crew, using="default").beat()
    assert told_new.sent == []
    assert [list(each) for each in told_old.sent] == [["lost"]]


@pytest.mark.django_db
def test_a_child_is_told_to_look_for_what_it_holds_and_has_not_begun_by_the_second_round() -> None:
    """Its claim reached the server after it had connected again and asked what it holds."""
    crew = Crew()
    (late, told_late), (busy, told_busy) = child(uuid4(), 7), child(uuid4(), 7)
    soon_begun = make_job(State.RUNNING, claimed_by=busy.worker)
    make_job(State.RUNNING, claimed_by=late.worker)
    crew.children += [late, busy]
    heartbeat = Heartbeat(crew, using="default")
    heartbeat.beat()
    assert {"recall": True} not in told_late.sent + told_busy.sent
    soon_begun.delete()
    heartbeat.beat()
    assert {"recall": True} in told_late.sent
    assert {"recall": True} not in told_busy.sent
