"""A restore in a worker of its own that is killed while it clears and while it writes."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from backups.models import BackupRestore, BackupRun, BackupTarget
from backups.restores import request_restore
from hubqueue.models import Job
from leads.models import Event, Registration
from tests.backups.restoring.conftest import archive_of, checksums
from tests.backups.restoring.second import rows_of
from tests.backups.runs.test_processes import THOROUGH, goes_on, seeded
from tests.support.wait import until
from tests.support.workers import WorkerTree, send

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
State, Phase = BackupRestore.State, BackupRestore.Phase
PEOPLE = 6_000


@pytest.fixture
def archived(acme: Event, cellar: BackupTarget) -> BackupRun:
    Registration.objects.bulk_create(
        Registration(event=acme, name=f"Person {number}") for number in range(PEOPLE)
    )
    return archive_of("acme", cellar)


@pytest.fixture
def worker(
    archived: BackupRun, process_env: dict[str, str], volume: Path, settings: Any
) -> Iterator[WorkerTree]:
    env = {"BACKUPS_VOLUME": settings.BACKUPS_VOLUME, "BACKUPS_KEYS": settings.BACKUPS_KEYS}
    arguments = ["--no-scheduler", "--queues", "backups"]
    tree = WorkerTree(arguments, env=process_env | env, log=volume / "worker.log")
    yield tree
    tree.kill_tree()


@pytest.mark.timeout(600)
def test_wherever_its_worker_is_killed_the_tenant_has_the_rows_of_the_archive(
    acme: Event, archived: BackupRun, worker: WorkerTree
) -> None:
    """While it clears and while it writes; twenty times, in three restores, where there is time."""
    random = seeded()
    before, others = checksums("acme"), checksums("other")
    kills = 0
    for clears, loads in ((3, 4), (3, 4), (3, 3)) if THOROUGH else ((2, 2),):
        Event.objects.filter(pk=acme.pk).update(name="Changed")
        restore = request_restore(archived, mode="replace")
        points = [
            partial(cleared_to, restore, each)
            for each in sorted(random.sample(range(PEOPLE), clears), reverse=True)
        ]
        points += [
            partial(loaded_to, restore, each)
            for each in sorted(random.sample(range(PEOPLE), loads))
        ]
        for point in points:
            until(point, timeout=60, interval=0.005, message="the moment to kill")
            if restore.state == State.RUNNING:
                killed_when(lambda: True, restore, worker)
                kills += 1
        ended(restore, worker)
        assert checksums("acme") == before
        assert checksums("other") == others
    # A batch may be the last one before it is seen.
    assert kills >= (15 if THOROUGH else 2)


def cleared_to(restore: BackupRestore, left: int) -> bool:
    restore.refresh_from_db()
    begun = restore.phase in {Phase.CLEAR, Phase.LOAD, Phase.LINK}
    there = Registration.objects.filter(event__tenant_id="acme").count()
    return restore.state != State.RUNNING or (begun and (there <= left or restore.cleared))


def loaded_to(restore: BackupRestore, rows: int) -> bool:
    restore.refresh_from_db()
    return restore.state != State.RUNNING or (restore.cleared and restore.rows >= rows)


def test_whenever_its_worker_is_killed_a_new_tenant_has_each_row_once(
    acme: Event, archived: BackupRun, worker: WorkerTree
) -> None:
    before = checksums("acme")
    restore = request_restore(archived, mode="new_tenant", tenant="second")

    def reached(phase: str) -> bool:
        restore.refresh_from_db()
        return (restore.phase, restore.label) == (phase, "leads.Registration")

    for phase in (Phase.KEYS, Phase.LOAD):
        killed_when(partial(reached, phase), restore, worker)
    ended(restore, worker)
    counts = {label: len(rows) for label, rows in rows_of("second").items()}
    assert counts == {label: len(rows) for label, rows in rows_of("acme").items()}
    names = Registration.objects.filter(event__tenant_id="second").values_list("name", flat=True)
    assert len(set(names)) == len(names) > PEOPLE
    assert checksums("acme") == before


def killed_when(reached: Callable[[], bool], restore: BackupRestore, worker: WorkerTree) -> None:
    """The worker's children die then, and another attempt has begun."""
    job = Job.objects.filter(pk=restore.job_id)
    until(reached, timeout=60, interval=0.005, message="the moment to kill")
    fence = job.get().fence
    for child in worker.children():
        send(child.pid, SIGKILL)
    until(partial(goes_on, job.get(), fence), timeout=25, message="the next attempt")


def ended(restore: BackupRestore, worker: WorkerTree) -> None:
    def has_ended() -> bool:
        restore.refresh_from_db()
        return restore.state != State.RUNNING

    until(has_ended, timeout=60, message="the end of the restore")
    assert (restore.state, restore.code) == (State.SUCCEEDED, ""), worker.said()
