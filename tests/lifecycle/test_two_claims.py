"""While there is more than a claim finds room for, two are under way at once, and nobody gets more for it."""

from collections.abc import Callable, Iterator, Sequence
from threading import current_thread
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from hubqueue.lifecycle.claim import Lane, claim
from hubqueue.lifecycle.guard import Claimed
from hubqueue.models import Job
from hubqueue.runner import intake as intakes
from hubqueue.runner.hands import Batch
from hubqueue.runner.intake import ALONE_FOR, Intake
from hubqueue.runner.recall import recall
from hubqueue.states import State
from tests.support.intakes import intake_of
from tests.support.rows import make_job

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = uuid4()
Made = Callable[..., Intake]


@pytest.fixture
def made() -> Iterator[Made]:
    """The intake of a child with four threads, which never begin."""
    all_made = []

    def make(
        *lanes: Lane, beside: Sequence[Batch] = (), strayed: Callable[[], None] = list
    ) -> Intake:
        intake = intake_of(WORKER, *(lanes or [Lane("default", 0)]), beside=beside, strayed=strayed)
        all_made.append(intake)
        return intake

    yield make
    for intake in all_made:
        intake.dismiss()


@pytest.fixture
def claimers(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The threads in which something was claimed."""
    threads: set[str] = set()

    def note(*given: Any, **more: Any) -> list[Claimed]:
        if claimed := claim(*given, **more):
            threads.add(current_thread().name)
        return claimed

    monkeypatch.setattr(intakes, "claim", note)
    return threads


def ids(claimed: list[Claimed]) -> list[UUID]:
    return [each.id for each in claimed]


def test_a_second_claim_goes_beside_one_when_the_last_was_full(
    made: Made, claimers: set[str]
) -> None:
    jobs = [make_job() for _ in range(9)]
    intake = made()
    first = ids(intake.claim(at_most=None))
    assert (len(first), len(claimers)) == (4, 1)
    second = ids(intake.claim(at_most=None))
    assert (len(second), len(claimers)) == (4, 2)
    claimers.clear()
    third = ids(intake.claim(at_most=None))
    assert len(third) == 1
    assert sorted([*first, *second, *third]) == sorted(job.pk for job in jobs)
    claimers.clear()
    make_job()
    assert len(intake.claim(at_most=None)) == 1
    assert len(claimers) == 1


def test_threads_that_had_nothing_when_a_claim_was_answered_get_two_though_they_have_work_now(
    made: Made, claimers: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intakes, "MOST_AHEAD", 8)
    for _ in range(30):
        make_job()
    intake = made()
    intake._hands.take(intake.bundle(intake.claim(at_most=None))[0])
    intake._hands.taken += 1000  # quick threads, so that more is claimed ahead
    assert intake._hands.waiting == 4
    assert len(intake.claim(at_most=None)) == 8
    assert len(claimers) == 2
    claimers.clear()
    assert len(intake.claim(at_most=None)) == 8
    assert len(claimers) == 1


def test_a_capped_queue_gives_no_more_to_two(made: Made, claimers: set[str]) -> None:
    for _ in range(9):
        make_job()
        make_job(queue="mail")
    intake = made(Lane("mail", 1), Lane("default", 0))
    got = [[each.queue for each in intake.claim(at_most=None)].count("mail") for _ in range(4)]
    assert len(claimers) == 2
    assert max(got) == 1


def running_of(made: Made, queue: str) -> list[Batch]:
    make_job(queue=queue)
    batches, _ = made(Lane(queue, 0)).bundle(made(Lane(queue, 0)).claim(at_most=1))
    return batches


def test_a_bound_on_jobs_is_kept(made: Made, claimers: set[str]) -> None:
    for _ in range(9):
        make_job()
    intake = made()
    intake.claim(at_most=None)
    assert len(intake.claim(at_most=3)) == 3
    assert len(claimers) == 1


def test_a_capped_queue_counts_what_runs_on_the_event_loop(made: Made) -> None:
    running = running_of(made, "mail")
    make_job(queue="mail")
    make_job()
    intake = made(Lane("mail", 1), Lane("default", 0), beside=running)
    assert [each.queue for each in intake.claim(at_most=None)] == ["default"]


def test_what_a_second_claim_got_and_could_not_tell_is_recalled(
    made: Made, claimers: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(30):
        make_job()
    strayed: list[bool] = []
    intake = made(strayed=lambda: strayed.append(True))
    known = {*ids(intake.claim(at_most=None)), *ids(intake.claim(at_most=None))}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%hubqueue_claim%'"
        )
        assert cursor.fetchall() == [(True,)]
    known |= set(ids(intake.claim(at_most=None)))
    assert (len(known), strayed) == (10, [True])
    assert recall(WORKER, lambda: known, using="default") == []
    assert set(Job.objects.filter(state=State.RUNNING).values_list("pk", flat=True)) == known
    claimers.clear()
    known |= set(ids(intake.claim(at_most=None)))
    assert (len(known), len(claimers)) == (14, 1)
    monkeypatch.setattr("hubqueue.runner.intake.monotonic", lambda: monotonic() + ALONE_FOR)
    known |= set(ids(intake.claim(at_most=None)))
    assert (len(known), len(claimers), strayed) == (18, 2, [True])


def test_a_second_connection_that_is_not_to_be_had_stops_nobody_and_is_told_of_without_its_words(
    made: Made, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connect = BaseDatabaseWrapper.connect

    def refuse(wrapper: BaseDatabaseWrapper) -> None:
        if current_thread().name.startswith("claimer"):
            raise OperationalError("too many connections for role s3cr3t")
        connect(wrapper)

    monkeypatch.setattr(BaseDatabaseWrapper, "connect", refuse)
    jobs = {make_job().pk for _ in range(30)}
    intake = made()
    got: set[UUID] = set()
    while claimed := ids(intake.claim(at_most=None)):
        got |= set(claimed)
    assert got == jobs
    assert Job.objects.filter(state=State.RUNNING, attempts=1).count() == 30
    assert caplog.text.count("a second claim failed (django.db.utils.OperationalError") == 1
    assert "s3cr3t" not in caplog.text
