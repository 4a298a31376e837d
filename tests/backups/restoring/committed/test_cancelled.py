"""A restore in a worker of its own that an officer cancels while it writes."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from backups import restores
from backups.archive.read import open_archive
from backups.conf import conf
from backups.data.spec import discover
from backups.data.tables import tables
from backups.models import BackupRestore, BackupRun, BackupTarget
from backups.restores import request_restore
from backups.restoring.reading import BATCH, rows
from backups.targets.opening import open_store
from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.models import Job, Pause, Worker
from hubqueue.querysets import database_now
from leads.models import Event, EventType, Registration
from tests.backups.restoring.conftest import archive_of, checksums
from tests.support.rival import Rival
from tests.support.wait import until
from tests.support.workers import WorkerTree

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
State, Phase = BackupRestore.State, BackupRestore.Phase
PEOPLE = 5_000
FIRST, LAST = 1_200, 3_200  # lines of the archive
WAITING = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid)))"
BRISK = "tests.backups.restoring.committed.brisk"


@pytest.fixture
def archived(acme: Event, cellar: BackupTarget) -> BackupRun:
    EventType.objects.create(name="fair")
    Registration.objects.bulk_create(
        Registration(event=acme, name=f"Person {number}") for number in range(PEOPLE)
    )
    return archive_of("acme", cellar)


@pytest.fixture
def worker(
    archived: BackupRun, process_env: dict[str, str], volume: Path, settings: Any
) -> Iterator[WorkerTree]:
    env = {"BACKUPS_VOLUME": settings.BACKUPS_VOLUME, "BACKUPS_KEYS": settings.BACKUPS_KEYS}
    env |= {"DJANGO_SETTINGS_MODULE": BRISK}
    arguments = ["--no-scheduler", "--queues", "backups"]
    tree = WorkerTree(arguments, env=process_env | env, log=volume / "worker.log")
    yield tree
    tree.kill_tree()


def test_a_cancel_ends_with_the_batch_at_hand_and_what_is_left_is_whole(
    acme: Event, archived: BackupRun, worker: WorkerTree
) -> None:
    """A Merge, a Replace whose rows have not gone yet, and one whose rows have; then one that is let alone."""
    before, others = checksums("acme"), checksums("other")
    lines = [Registration.objects.get(pk=key) for key in registrations(archived)]
    mine = [each for each in lines if each.name.startswith("Person")]  # and in no group
    gone = Registration.objects.filter(pk__in=[each.pk for each in mine])

    gone.delete()
    restore = request_restore(archived, mode="merge", if_there="skip")
    stop_while_it_writes(restore, lines, worker)
    came = {each.pk for each in lines[: restore.line]}
    assert gone.count() == len(came & {each.pk for each in mine})
    assert not Pause.objects.exists()

    kind = EventType.objects.get()
    EventType.objects.filter(pk=kind.pk).delete()
    now = checksums("acme")
    restore = request_restore(archived, mode="replace")
    stop_before_its_rows_go(restore, kind, worker)
    assert checksums("acme") == now
    assert not Pause.objects.exists()

    gone.delete()
    restore = request_restore(archived, mode="replace")
    stop_while_it_writes(restore, lines, worker)
    assert restore.cleared
    assert Registration.objects.filter(event=acme).count() == restore.line
    assert Pause.objects.get().value == "acme"

    restore = request_restore(archived, mode="replace")
    assert ended(restore, worker) == State.SUCCEEDED
    assert (checksums("acme"), checksums("other")) == (before, others)
    assert not Pause.objects.exists()


def registrations(run: BackupRun) -> list[str]:
    """The keys of the registrations in the order of the archive."""
    (table,) = [each for each in tables(discover()) if each.label == "leads.Registration"]
    with open_store(run.target) as store:
        archive = open_archive(store, run.archive, conf().keys, encrypted=True)
        return [row["id"] or "" for row in rows(archive, table)]


def stop_while_it_writes(
    restore: BackupRestore, lines: list[Registration], worker: WorkerTree
) -> None:
    """It is asked to stop at one line, has heard of that at a later one, and writes the batch of that to its end; or
    it hears on the way there, and stops at the end of a batch before."""
    with writing(lines[FIRST]) as first, writing(lines[LAST]) as last, Rival() as officer:
        until(partial(waits_for, first, restore), message="the first line")
        asked = officer.start(partial(cancel, restore))
        officer.until_blocked()
        first.rollback()
        asked.result(timeout=30)
        until(
            lambda: waits_for(last, restore) or has_ended(restore),
            message="the later line, or the end",
        )
        if not has_ended(restore):
            hear_of_it()
            restore.refresh_from_db()
            place = restore.phase, restore.label, restore.line
            assert place == (Phase.LOAD, "leads.Registration", LAST // BATCH * BATCH)
            written = restore.rows
            last.rollback()
            assert ended(restore, worker) == State.CANCELLED
            assert (restore.line, restore.rows) == (place[-1] + BATCH, written + BATCH)
    assert restore.state == State.CANCELLED
    assert restore.line % BATCH == 0
    assert FIRST < restore.line <= LAST + BATCH
    assert Job.objects.get(pk=restore.job_id).state == "CANCELLED"


def stop_before_its_rows_go(restore: BackupRestore, kind: EventType, worker: WorkerTree) -> None:
    """It looks at the archive a second time, with the tenant at rest, and tries the shared row that is gone."""

    def copies() -> bool:
        restore.refresh_from_db()
        return restore.safety is not None

    until(copies, message="the copy")
    with writing(kind) as first:
        until(partial(waits_for, first, restore), message="the second look")
        restore.refresh_from_db()
        assert restore.phase == Phase.PARK
        assert Pause.objects.get().value == "acme"
        cancel(restore)
        hear_of_it()
        first.rollback()
        assert ended(restore, worker) == State.CANCELLED
    assert (restore.phase, restore.cleared) == (Phase.PARK, False)


@contextmanager
def writing(row: Any) -> Iterator[Rival]:
    """Another session has written this row, which the restore comes to write, and has not committed it."""
    with Rival() as rival:
        rival.begin()
        rival.do(lambda: type(row).objects.bulk_create([row]))
        yield rival


def waits_for(rival: Rival, restore: BackupRestore) -> bool:
    hurry(restore)
    with connection.cursor() as cursor:
        cursor.execute(WAITING, [rival.pid])
        return bool(cursor.fetchone()[0])


def cancel(restore: BackupRestore) -> None:
    restores.cancel(restore, actor="boss", reason="not now")


def hear_of_it() -> None:
    """Its worker has heard of what it is asked: once its lease was renewed, and with time to spare."""
    for _ in range(2):
        seen = leases()
        until(lambda seen=seen: leases() != seen, message="a round of the worker")  # type: ignore[misc]


def leases() -> list[datetime]:
    return list(Worker.objects.order_by("id").values_list("lease_until", flat=True))


def ended(restore: BackupRestore, worker: WorkerTree) -> str:
    def ended_while_alive() -> bool:
        assert worker.alive, worker.said()
        hurry(restore)
        return has_ended(restore)

    until(ended_while_alive, message="the end of the restore")
    return restore.state


def has_ended(restore: BackupRestore) -> bool:
    restore.refresh_from_db()
    return restore.state != State.RUNNING


def hurry(restore: BackupRestore) -> None:
    """A restore that waits, for its copy for one, looks again at once."""
    waits = Job.objects.filter(pk=restore.job_id, state="READY", run_at__gt=database_now("default"))
    if waits.exists():
        with suppress(MoveRefused):  # its moment has come just now
            officers.run_now(restore.job_id, actor="boss", reason="the test waits")
