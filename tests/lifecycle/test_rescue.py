"""Rescue: what a worker that is gone held comes back, whatever became of its row, and is never given up by it."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection

from hubqueue.lifecycle import rescue as rescuing
from hubqueue.lifecycle.rescue import Sweep, rescue
from hubqueue.lifecycle.workers import Registration, held_by, register, remove, renew
from hubqueue.models import Job, Worker
from hubqueue.registry import registry
from hubqueue.states import State, Stop
from hubqueue.testing import run_due_jobs
from tests.support.handlers import ABANDONED
from tests.support.rival import Rival
from tests.support.rows import claim_all, make_job, now

pytestmark = pytest.mark.django_db

LEASE = timedelta(seconds=30)
AT_ONCE = timedelta(0)


@pytest.fixture
def worker() -> UUID:
    return enlist()


def enlist(*, lease: timedelta = LEASE, solo: bool = False, visible: bool = False) -> UUID:
    made = Registration(uuid4(), "host", 1, ["default"], [], solo=solo, sessions_visible=visible)
    register(made, lease=lease, using="default")
    return made.id


def running(worker: UUID, count: int = 1, **values: object) -> list[Job]:
    return [make_job(State.RUNNING, claimed_by=worker, **values) for _ in range(count)]


def sweep(apart: timedelta = AT_ONCE, calm: timedelta = AT_ONCE) -> Sweep:
    return Sweep("default", apart, calm)


def test_a_worker_with_a_lease_keeps_what_it_holds(worker: UUID) -> None:
    running(worker, 3)
    assert sweep().once() == []
    assert Job.objects.running().count() == 3


def test_a_lease_that_passed_gives_everything_back(worker: UUID) -> None:
    running(worker, 3)
    Worker.objects.update(lease_until=now() - timedelta(seconds=1))
    assert {each.state for each in sweep().once()} == {State.READY}
    assert not Job.objects.running().exists()
    assert not Worker.objects.exists()


def test_a_worker_row_that_was_deleted_by_hand_gives_everything_back(worker: UUID) -> None:
    running(worker, 2)
    remove(worker, using="default")
    assert len(sweep().once()) == 2
    assert Job.objects.ready().count() == 2


def test_a_renewed_lease_is_as_good_as_new_and_says_whose_row_is_gone(worker: UUID) -> None:
    Worker.objects.update(lease_until=now() - timedelta(seconds=1))
    gone = uuid4()
    assert renew([worker, gone], lease=LEASE, using="default") == {worker}
    running(worker)
    assert sweep().once() == []


@pytest.mark.django_db(transaction=True)
def test_no_row_lock_of_a_job_can_block_a_renewal(worker: UUID) -> None:
    (job,) = running(worker)
    with Rival() as rival:
        rival.begin()
        rival.do(lambda: Job.objects.select_for_update().get(pk=job.pk))
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1ms'")
        assert renew([worker], lease=LEASE, using="default") == {worker}
        assert [each.id for each in held_by([worker], using="default")] == [job.id]
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def test_a_missing_session_must_be_seen_twice_one_interval_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(rescuing, "monotonic", lambda: clock[0])
    silent = enlist(visible=True)
    running(silent)
    look = sweep(timedelta(milliseconds=1))
    assert look.once() == []
    assert look.once() == [], "no interval has passed"
    clock[0] += 0.002
    assert len(look.once()) == 1


@pytest.mark.django_db(transaction=True)
def test_a_session_that_came_back_in_between_starts_the_count_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(rescuing, "monotonic", lambda: clock[0])
    silent = enlist(visible=True)
    running(silent)
    look = sweep(timedelta(milliseconds=1))
    look.once()
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [f"hubqueue-{silent}"])
    clock[0] += 1
    assert look.once() == []
    with connection.cursor() as cursor:
        cursor.execute("RESET application_name")
    assert look.once() == []
    clock[0] += 1
    assert len(look.once()) == 1


def test_where_sessions_cannot_be_seen_the_lease_alone_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(rescuing, "monotonic", lambda: clock[0])
    running(enlist(visible=False))
    look = sweep(timedelta(milliseconds=1))
    for _ in range(3):
        clock[0] += 60
        assert look.once() == []


@pytest.mark.parametrize("loss", ["lease", "row"])
def test_nobody_rescues_before_the_server_and_the_own_session_were_up_for_an_interval(
    worker: UUID, loss: str
) -> None:
    running(worker)
    if loss == "lease":
        Worker.objects.update(lease_until=now() - timedelta(seconds=1))
    else:
        remove(worker, using="default")
    assert sweep(calm=timedelta(days=1)).once() == []
    assert sweep().once() != []


def test_what_was_in_flight_becomes_a_suspect_unspent_and_what_was_not_comes_back_as_it_was(
    worker: UUID,
) -> None:
    started, waiting = running(worker, 2, attempts=2)
    rescue(worker, cause="reaped", alone=False, using="default", in_flight={started.id})
    started.refresh_from_db()
    waiting.refresh_from_db()
    assert (started.state, started.attempts, started.suspect) == (State.READY, 1, True)
    assert (waiting.state, waiting.attempts, waiting.suspect) == (State.READY, 1, False)
    assert started.failures.get().code == "worker_died"
    assert started.failures.get().spent is False
    assert not waiting.failures.exists()
    assert waiting.error_code is None


def test_when_nobody_knows_what_was_in_flight_all_of_it_is_suspect(worker: UUID) -> None:
    running(worker, 3)
    rescue(worker, cause="lease", alone=False, using="default")
    assert Job.objects.filter(suspect=True, attempts=0, state=State.READY).count() == 3


def test_a_death_while_alone_spends_the_attempt_and_waits(worker: UUID) -> None:
    (job,) = running(worker, suspect=True, attempts=2)
    rescue(worker, cause="reaped", alone=True, using="default")
    job.refresh_from_db()
    assert (job.state, job.attempts, job.suspect, job.error_code) == (
        State.READY,
        2,
        True,
        "worker_died",
    )
    assert job.failing_since is not None
    assert job.run_at >= job.created_at
    assert job.failures.get().spent


def test_a_death_of_a_solo_worker_is_a_death_while_alone() -> None:
    (job,) = running(enlist(lease=-LEASE, solo=True), suspect=True, attempts=2)
    sweep().once()
    job.refresh_from_db()
    assert (job.attempts, job.suspect) == (2, True)


def test_a_timed_out_job_whose_child_was_ended_spends_its_attempt(worker: UUID) -> None:
    late, other = running(worker, 2)
    rescue(
        worker,
        cause="timeout",
        alone=False,
        using="default",
        in_flight={late.id, other.id},
        timed_out={late.id},
    )
    late.refresh_from_db()
    other.refresh_from_db()
    assert (late.attempts, late.error_code, late.suspect) == (1, "timeout", False)
    assert (other.attempts, other.suspect) == (0, True)


def test_a_death_that_used_the_last_attempt_is_given_up_by_the_next_claim_without_a_wait() -> None:
    (job,) = running(enlist(lease=-LEASE, solo=True), suspect=True, attempts=3)
    Sweep("default", AT_ONCE, AT_ONCE, registry.find).once()
    report = run_due_jobs()
    job.refresh_from_db()
    assert (job.state, job.error_code, job.attempts) == (State.DEAD, "worker_died", 3)
    assert [run.state for run in report.runs] == [State.DEAD]


@pytest.mark.parametrize("alone", [True, False])
def test_rescue_never_makes_a_dead_letter(worker: UUID, alone: bool) -> None:
    (job,) = running(worker, attempts=3, max_attempts=3)
    rescue(worker, cause="lease", alone=alone, using="default")
    job.refresh_from_db()
    assert job.state == State.READY


def test_a_suspect_that_settles_is_a_suspect_no_more(worker: UUID) -> None:
    (job,) = running(worker)
    rescue(worker, cause="lease", alone=False, using="default")
    assert claim_all() == []
    run_due_jobs()
    job.refresh_from_db()
    assert (job.state, job.suspect) == (State.SUCCEEDED, False)


@pytest.mark.parametrize(
    ("stop", "state"), [(Stop.CANCEL, State.CANCELLED), (Stop.PARK, State.PARKED)]
)
def test_a_stop_request_is_honoured_by_a_rescue(worker: UUID, stop: Stop, state: State) -> None:
    let_go: list[UUID] = []
    ABANDONED["x"] = lambda job: let_go.append(job.id)
    (job,) = running(worker, stop_requested=stop, payload={"script": "x"})
    rescue(worker, cause="lease", alone=False, using="default", find_work=registry.find)
    del ABANDONED["x"]
    job.refresh_from_db()
    assert job.state == state
    assert let_go == ([job.id] if state == State.CANCELLED else [])


@pytest.mark.django_db(transaction=True)
def test_a_locked_row_is_left_to_the_next_sweep_and_its_worker_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rescuing, "SHORT", timedelta(milliseconds=50))
    gone = enlist(lease=-LEASE)
    locked, free = running(gone, 2)
    with Rival() as rival:
        rival.begin()
        rival.do(lambda: Job.objects.select_for_update().get(pk=locked.pk))
        assert [each.id for each in sweep().once()] == [free.id]
        assert Worker.objects.filter(pk=gone).exists()
        rival.rollback()
    assert [each.id for each in sweep().once()] == [locked.id]
    assert not Worker.objects.filter(pk=gone).exists()


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_rescue_a_job_once() -> None:
    (job,) = running(enlist(lease=-LEASE), attempts=2)
    with Rival() as one, Rival() as two, Rival() as gate:
        gate.begin()
        gate.do(lambda: Job.objects.select_for_update().get(pk=job.pk))
        first, second = one.start(sweep().once), two.start(sweep().once)
        one.until_blocked()
        two.until_blocked()
        gate.rollback()
        assert len(first.result(30)) + len(second.result(30)) == 1
    job.refresh_from_db()
    assert (job.state, job.attempts) == (State.READY, 1)
    assert job.failures.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_rescuer_that_dies_halfway_leaves_the_rest_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rescuing, "SHORT", LEASE)
    jobs = sorted(running(enlist(lease=-LEASE), 3), key=lambda job: job.pk)
    with Rival() as rescuer, Rival() as gate:
        gate.begin()
        gate.do(lambda: Job.objects.select_for_update().get(pk=jobs[1].pk))
        swept = rescuer.start(sweep().once)
        rescuer.until_blocked()
        rescuer.die()
        with pytest.raises(OperationalError):
            swept.result(30)
        gate.rollback()
    assert Job.objects.running().count() == 2
    assert {each.id for each in sweep().once()} == {job.pk for job in jobs[1:]}
    assert not Worker.objects.exists()
    assert [job.failures.count() for job in jobs] == [1, 1, 1]
