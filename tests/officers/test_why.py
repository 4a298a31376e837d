"""Why is this job not running? Each reason is told exactly when it holds."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest

from hubqueue import officers
from hubqueue import why as reasons
from hubqueue.ids import uuid7
from hubqueue.models import Worker
from hubqueue.querysets import database_now
from hubqueue.states import State, Stop
from hubqueue.why import why
from tests.officers.conftest import KIND, MakeJob

pytestmark = pytest.mark.django_db

MakeWorker = Callable[..., Worker]


def codes(job: object) -> list[str]:
    return [reason.code for reason in why(job.pk)]  # type: ignore[attr-defined]


def sentence(job: object, code: str) -> str:
    return next(each.sentence for each in why(job.pk) if each.code == code)  # type: ignore[attr-defined]


def test_a_due_job_with_a_worker_is_next(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker()
    assert codes(make_job()) == ["next"]


def test_due_jobs_ahead_are_counted(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker()
    now = database_now("default")
    make_job(run_at=now - timedelta(minutes=1))
    make_job(priority=-1)
    job = make_job(run_at=now - timedelta(seconds=1))
    make_job(run_at=now)  # younger
    make_job(priority=1, run_at=now - timedelta(hours=1))  # less urgent
    make_job(priority=-1, run_at=now + timedelta(hours=1))  # not due
    make_job(queue="mail", priority=-1)  # elsewhere

    assert codes(job) == ["waits_its_turn"]
    assert "2 due jobs" in sentence(job, "waits_its_turn")


def test_the_count_ahead_is_bounded(
    make_job: MakeJob, make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reasons, "MOST_AHEAD", 2)
    make_worker()
    for _ in range(4):
        make_job(priority=-1)
    assert "more than 2" in sentence(make_job(), "waits_its_turn")


def test_a_scheduled_job_says_until_when(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker()
    job = make_job(run_at=database_now("default") + timedelta(hours=2))
    assert codes(job) == ["scheduled"]
    assert "2 hours" in sentence(job, "scheduled")


def test_a_retry_says_what_failed(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker()
    later = database_now("default") + timedelta(minutes=5)
    job = make_job(run_at=later, attempts=2, error_code="refused")
    assert codes(job) == ["waiting_for_retry"]
    assert "Attempt 2 of 3 failed (refused)" in sentence(job, "waiting_for_retry")


@pytest.mark.parametrize(
    ("scope", "value"), [("queue", "default"), ("kind", KIND), ("tenant", "t1")]
)
def test_a_pause_says_who_and_why(
    scope: str, value: str, make_job: MakeJob, make_worker: MakeWorker
) -> None:
    make_worker()
    job = make_job(tenant_id="t1")
    other = make_job(queue="mail", kind="gone.away", tenant_id="t2")
    officers.pause(scope, value, actor="ada", reason="migration")

    assert codes(job)[0] == "paused"
    said = sentence(job, "paused")
    assert "ada" in said
    assert "migration" in said
    assert "paused" not in codes(other)


def test_a_pause_that_is_over_is_not_told(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker()
    over = database_now("default") - timedelta(seconds=1)
    officers.pause("queue", "default", actor="ada", reason="migration", until=over)
    assert codes(make_job()) == ["next"]


def test_no_worker_at_all(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker(lease=timedelta(seconds=-1))
    assert codes(make_job())[0] == "no_worker"


def test_no_worker_for_the_queue(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker(queues=["mail"])
    assert "queue_not_served" in codes(make_job())
    assert "queue_not_served" not in codes(make_job(queue="mail"))


def test_a_kind_no_worker_knows(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker()
    assert "unknown_kind" in codes(make_job(kind="gone.away"))
    make_worker(queues=["mail"], kinds=["gone.away"])
    assert "unknown_kind" in codes(make_job(kind="gone.away"))


def test_a_suspect_waits_for_a_child_of_its_own(make_job: MakeJob, make_worker: MakeWorker) -> None:
    make_worker()
    assert codes(make_job(suspect=True)) == ["suspect"]


def test_a_running_job_says_where(make_job: MakeJob, make_worker: MakeWorker) -> None:
    job = make_job(State.RUNNING, claimed_by=make_worker().pk)
    assert codes(job) == ["running"]
    assert "machine:4711" in sentence(job, "running")


def test_a_stop_request_is_told(make_job: MakeJob, make_worker: MakeWorker) -> None:
    job = make_job(State.RUNNING, claimed_by=make_worker().pk, stop_requested=Stop.CANCEL)
    assert codes(job) == ["stop_requested", "running"]


def test_a_worker_whose_lease_passed_is_told(make_job: MakeJob, make_worker: MakeWorker) -> None:
    gone = make_worker(lease=timedelta(seconds=-30))
    assert codes(make_job(State.RUNNING, claimed_by=gone.pk)) == ["lease_passed"]
    assert codes(make_job(State.RUNNING, claimed_by=uuid4())) == ["worker_missing"]


def test_a_wake_up_that_waits_is_told(make_job: MakeJob, make_worker: MakeWorker) -> None:
    job = make_job(State.RUNNING, claimed_by=make_worker().pk, rerun_at=database_now("default"))
    assert codes(job) == ["running", "wake_up_pending"]


def test_what_is_over_says_so(make_job: MakeJob) -> None:
    assert codes(make_job(State.SUCCEEDED)) == ["finished"]
    assert codes(make_job(State.CANCELLED)) == ["finished"]
    assert codes(make_job(State.DEAD)) == ["dead"]
    assert codes(make_job(State.PARKED)) == ["parked"]
    assert [reason.code for reason in why(uuid7())] == ["unknown_job"]
