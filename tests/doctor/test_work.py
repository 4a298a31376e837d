"""What waits and by whom it is taken: workers, kinds, pauses, leases, the leader."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest

from hubqueue import officers
from hubqueue.doctor import Severity, circles, leader, leases, pauses, work, workers
from hubqueue.models import Duty, Failure, Leader, Worker
from hubqueue.scheduler.leadership import lock_key
from hubqueue.states import State
from tests.doctor.conftest import found_by
from tests.support.postgres import Cluster
from tests.support.rows import KIND, make_job, now

MakeWorker = Callable[..., Worker]


def test_work_with_a_worker_is_well(clinic: Cluster, make_worker: MakeWorker) -> None:
    make_worker()
    make_job()
    for look in (work.look, pauses.look, leases.look):
        assert not found_by(look)


def test_no_worker_is_a_warning_and_with_due_work_an_error(
    clinic: Cluster, make_worker: MakeWorker
) -> None:
    make_worker(lease=timedelta(seconds=-1))
    assert found_by(work.look)["no_worker"].severity is Severity.WARNING
    make_job()
    make_job(suspect=True)
    said = found_by(work.look)["no_worker"]
    assert said.severity is Severity.ERROR
    assert "2 jobs are due" in said.found


def test_a_queue_that_nobody_serves_is_an_error(clinic: Cluster, make_worker: MakeWorker) -> None:
    make_worker(queues=["default"])
    make_job(queue="mail", run_at=now() + timedelta(hours=1))
    assert not found_by(work.look)
    make_job(queue="mail")
    said = found_by(work.look)["queue_not_served"]
    assert said.severity is Severity.ERROR
    assert "queue mail" in said.expected


def test_unknown_kinds_are_counted_within_bounds(
    clinic: Cluster, make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "CAP", 20)
    make_worker()
    for _ in range(30):
        make_job(kind="gone.away")
    found = found_by(work.look)
    assert list(found) == ["unknown_kinds"]
    assert "at least 21 jobs" in found["unknown_kinds"].found
    assert "gone.away" in found["unknown_kinds"].found


def test_a_name_out_of_a_row_cannot_break_the_line(
    clinic: Cluster, make_worker: MakeWorker
) -> None:
    make_worker()
    make_job(kind="a\nok       all is well\x1b[2J")
    line = found_by(work.look)["unknown_kinds"].line()
    assert line.isprintable()


def test_a_worker_that_knows_the_kind_makes_it_known(
    clinic: Cluster, make_worker: MakeWorker
) -> None:
    make_worker(kinds=["brand.new"])
    make_job(kind="brand.new")
    assert not found_by(work.look)


def test_workers_of_older_code_are_named(clinic: Cluster, make_worker: MakeWorker) -> None:
    make_worker(kinds=["other.kind"])
    make_job()
    found = found_by(work.look)
    assert list(found) == ["workers_lack_kinds"]
    assert KIND in found["workers_lack_kinds"].found


@pytest.mark.parametrize(("scope", "value"), [("kind", KIND), ("queue", "default")])
def test_work_that_is_late_is_told_unless_it_is_paused(
    clinic: Cluster, make_worker: MakeWorker, scope: str, value: str
) -> None:
    make_worker()
    make_job(run_at=now() - timedelta(minutes=30))
    said = found_by(work.look)["queue_late"]
    assert "30 min" in said.found
    officers.pause(scope, value, actor="ada", reason="wrong list")
    assert not found_by(work.look)


def test_what_is_paused_is_listed_with_who(clinic: Cluster) -> None:
    officers.pause("queue", "mail", actor="ada", reason="wrong list")
    until = now() + timedelta(hours=3)
    officers.pause("tenant", "t1", actor="eve", reason="asked for it", until=until)
    said = found_by(pauses.look)["paused"]
    assert "queue mail by ada" in said.found
    assert "tenant t1 by eve" in said.found
    assert "for 3 h more" in said.found


@pytest.mark.parametrize("row", [True, False])
def test_jobs_of_dead_workers_that_nobody_took_back_are_an_error(
    clinic: Cluster, make_worker: MakeWorker, row: bool
) -> None:
    long_ago = now() - timedelta(minutes=10)
    dead = make_worker(lease=timedelta(minutes=-10))
    make_job(State.RUNNING, claimed_by=dead.pk, claimed_at=long_ago)
    make_job(State.RUNNING, claimed_by=make_worker().pk, claimed_at=long_ago)
    if not row:
        dead.delete()
    said = found_by(leases.look)["not_rescued"]
    assert said.severity is Severity.ERROR
    assert "1 held by workers that are gone, for up to 10 min" in said.found


def test_workers_that_do_not_listen_are_told(clinic: Cluster, make_worker: MakeWorker) -> None:
    make_worker()
    assert not found_by(workers.look)
    make_worker(sessions_visible=False, host="deaf", pid=17)
    assert "1 of 2 do not (deaf:17)" in found_by(workers.look)["workers_do_not_listen"].found


def test_jobs_that_are_handed_back_again_and_again_are_an_error(clinic: Cluster) -> None:
    fine, round_and_round = make_job(), make_job(kind="slow.one")
    for number in range(circles.ROUNDS):
        for job, spent in ((fine, True), (round_and_round, False)):
            Failure.objects.create(
                job=job, attempt=number, code="connection_lost", failed_at=now(), spent=spent
            )
    found = found_by(circles.look)
    assert found["going_round"].severity is Severity.ERROR
    assert found["going_round"].found == "1 of slow.one (connection_lost)"
    Failure.objects.filter(job=round_and_round).update(failed_at=now() - timedelta(hours=1))
    assert not found_by(circles.look)


def test_a_lease_that_just_passed_is_left_to_the_rescue(
    clinic: Cluster, make_worker: MakeWorker
) -> None:
    dead = make_worker(lease=timedelta(seconds=-10))
    make_job(State.RUNNING, claimed_by=dead.pk)
    assert not found_by(leases.look)


@contextmanager
def leading(clinic: Cluster) -> Iterator[None]:
    with psycopg.connect(clinic.url(), autocommit=True) as session:
        session.execute("SELECT pg_advisory_lock(%s)", [lock_key()])
        yield


def test_without_a_leader_there_is_an_error_as_soon_as_a_worker_lives(
    clinic: Cluster, make_worker: MakeWorker
) -> None:
    assert not found_by(leader.look)
    make_worker()
    assert found_by(leader.look)["no_leader"].severity is Severity.ERROR
    Leader.objects.create(host="h", pid=1, since=now(), ticked_at=now())
    with leading(clinic):
        assert not found_by(leader.look)
    assert "no_leader" in found_by(leader.look)


def test_a_leader_that_does_not_tick_is_an_error(clinic: Cluster) -> None:
    with leading(clinic):
        assert "no tick came yet" in found_by(leader.look)["leader_silent"].found
        Leader.objects.create(host="h", pid=1, since=now(), ticked_at=now() - timedelta(minutes=5))
        assert "5 min ago" in found_by(leader.look)["leader_silent"].found


def test_duties_that_fail_are_told_with_their_code(clinic: Cluster) -> None:
    Duty.objects.create(name="hubqueue.purge_jobs", ran_at=now(), error_code="timeout")
    Duty.objects.create(name="hubqueue.pollers", ran_at=now(), succeeded_at=now())
    assert found_by(leader.look)["duty_fails"].found == "hubqueue.purge_jobs (timeout)"
