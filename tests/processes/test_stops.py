"""An officer's stop reaches a running handler within a renewal round, and progress comes back with it."""

from collections.abc import Callable
from uuid import UUID

import pytest

from hubqueue import officers
from hubqueue.states import State
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

BRISK = {"RENEW_EVERY": 1, "RESCUE_EVERY": 1}
Verb = Callable[..., State]


def long_job(hub: Hub) -> UUID:
    (job,) = hub.put("proof.long", [{"name": "long"}], queue="backups")
    hub.ready("--threads", "1", seconds=BRISK)
    hub.said("long-1")
    return job


def test_progress_is_written_by_the_renewal_round(hub: Hub) -> None:
    job = long_job(hub)
    until(lambda: hub.job(job)["progress"] == 0.25, timeout=PATIENT, message="the progress")
    hub.let_go("long-1")
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1


@pytest.mark.parametrize(
    ("verb", "state", "hook"),
    [(officers.cancel, "CANCELLED", ["abandoned long"]), (officers.park, "PARKED", [])],
)
def test_a_stop_reaches_a_running_handler_and_ends_it_unspent(
    hub: Hub, verb: Verb, state: str, hook: list[str]
) -> None:
    job = long_job(hub)
    assert verb(job, actor="officer", reason="enough") is State.RUNNING
    row = hub.reaches(job, state)
    assert (row["attempts"], row["stop_requested"], row["claimed_by"]) == (0, None, None)
    assert hub.failures(job) == [(1, False, "stop_requested")]
    assert hub.effects() == hook
    assert hub.lines("ended") == []


def test_work_that_is_done_stands_although_a_stop_was_asked_for(hub: Hub) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "deaf"}])
    hub.ready(seconds=BRISK)
    fence = hub.said("deaf-1")[2]
    officers.cancel(job, actor="officer", reason="enough")
    hub.let_go(fence)
    assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert hub.effects() == []


@pytest.mark.parametrize(
    ("verb", "state", "hook"),
    [(officers.cancel, "CANCELLED", ["abandoned deaf"]), (officers.park, "PARKED", [])],
)
@pytest.mark.parametrize("words", ["fail", "retry", "repeat", "dead"])
def test_every_other_outcome_ends_as_the_officer_said(
    hub: Hub, verb: Verb, state: str, hook: list[str], words: str
) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "deaf"}])
    hub.ready(seconds=BRISK)
    fence = hub.said("deaf-1")[2]
    verb(job, actor="officer", reason="enough")
    hub.let_go(fence, words)
    hub.reaches(job, state)
    assert hub.effects() == hook


def test_a_stop_stands_when_the_worker_dies_instead(hub: Hub) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "doomed"}])
    worker = hub.ready(seconds=BRISK)
    hub.said("doomed-1")
    officers.cancel(job, actor="officer", reason="enough")
    worker.kill_tree()
    hub.ready(seconds=BRISK)
    hub.reaches(job, "CANCELLED")
    assert hub.effects() == ["abandoned doomed"]
    assert len(hub.lines("attempts")) == 1
