"""An expiry beside another transaction, and one that is killed."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, connections, transaction

from backups import expiry as expiry_module
from backups.deletion import delete_directory
from backups.errors import ArchiveMissing
from backups.expiry import expire_after
from backups.models import BackupRun
from backups.officers import pin
from backups.services import request_run
from backups.whole import hold_archives, whole_archives
from tests.backups.keeping.made import Run, ago, archive, complete, run, states
from tests.conftest import CHECKOUT
from tests.support.wait import until

# Not pg_stat_activity: a transaction sees it as it was when it first looked.
WAITING = """
    SELECT count(*) FROM pg_locks
    WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


def waits():
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return cursor.fetchone()[0] > 0


@pytest.fixture
def beside():
    """Runs a call in a thread with a connection of its own."""
    with ThreadPoolExecutor(1) as pool:

        def start(function, *arguments):
            def called():
                try:
                    return function(*arguments)
                finally:
                    connections.close_all()

            return pool.submit(called)

        yield start


@pytest.mark.django_db(transaction=True)
def test_an_incremental_that_is_being_started_keeps_its_parent(store, schedule, target, beside):
    old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
    with transaction.atomic():
        hold_archives(target.pk)
        more = {"mode": "incremental", "parent": whole_archives().get(pk=old.pk)}
        run(target, started=ago(minutes=0), state=Run.RUNNING, schedule=schedule, **more)
        expiry = beside(expire_after, new, store)
        until(waits)
    assert expiry.result(timeout=20) == 0
    assert states(old) == ["SUCCEEDED"]
    assert complete(store) == [old.archive, new.archive]


@pytest.mark.django_db(transaction=True)
def test_the_request_of_a_run_and_the_beginning_of_an_expiry_wait_for_each_other(
    store, schedule, target, beside
):
    archive(store, schedule, days=2)
    new = archive(store, schedule, days=1)
    with transaction.atomic():
        request_run(target, trigger="schedule", schedule=schedule)
        expiry = beside(expire_after, new, store)
        until(waits)
    assert expiry.result(timeout=20) == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_pinned_in_the_moment_of_an_expiry_stays(store, schedule, beside):
    old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
    with transaction.atomic():
        pinned(old)
        expiry = beside(expire_after, new, store)
        until(waits)
    assert expiry.result(timeout=20) == 0
    assert states(old) == ["SUCCEEDED"]
    assert complete(store) == [old.archive, new.archive]


@pytest.mark.django_db(transaction=True)
def test_what_is_being_marked_is_not_pinned_any_more(store, schedule, beside, monkeypatch):
    old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
    decide = expiry_module.expiring

    def decided(decisions):
        asked.append(beside(pinned, old))
        until(waits)
        return decide(decisions)

    asked = []
    monkeypatch.setattr(expiry_module, "expiring", decided)
    assert expire_after(new, store) == 1
    with pytest.raises(ArchiveMissing):
        asked[0].result(timeout=20)
    assert states(old) == ["EXPIRED"]
    assert complete(store) == [new.archive]


@pytest.mark.django_db(transaction=True)
def test_a_pin_and_an_expiry_at_one_instant_never_both_succeed(store, schedule, beside):
    for _ in range(10):
        old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
        start = Barrier(2)

        def pin(old=old, start=start):
            start.wait(20)
            pinned(old)

        asked = beside(pin)
        start.wait(20)
        expire_after(new, store)
        refused = isinstance(asked.exception(timeout=20), ArchiveMissing)
        assert states(old) == (["EXPIRED"] if refused else ["SUCCEEDED"])
        assert (old.archive in complete(store)) is not refused
        BackupRun.objects.all().delete()
        for each in complete(store):
            delete_directory(each, store)


def pinned(run):
    pin(run, until=ago(days=-1), actor="boss", reason="evidence")


KILLED = """
import os, signal, sys
import django
django.setup()
from backups.expiry import expire_after
from backups.models import BackupRun
from tests.backups.archive.directory import Directory
from pathlib import Path

class Dying(Directory):
    left = int(sys.argv[3])
    def delete(self, name):
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        super().delete(name)

expire_after(BackupRun.objects.get(pk=sys.argv[1]), Dying(Path(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("deletions", [0, 1, 4, 7, 8])
def test_a_process_that_is_killed_between_two_deletions_leaves_no_half_archive_that_counts(
    process_env, volume, schedule, store, deletions
):
    archives = [archive(store, schedule, days=days) for days in (3, 2, 1)]
    new = archives[-1]
    arguments = [str(new.pk), str(volume / "target"), str(deletions)]
    env = {**process_env, "BACKUPS_VOLUME": str(volume)}
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], env=env, cwd=CHECKOUT, timeout=60, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    counted = BackupRun.objects.filter(state=Run.SUCCEEDED, expiring_at__isnull=True)
    assert [each.pk for each in counted] == [new.pk]
    assert set(complete(store)) >= {new.archive}
    expire_after(new, store)
    assert states(*archives) == ["EXPIRED", "EXPIRED", "SUCCEEDED"]
    assert complete(store) == [new.archive]
    assert [each.name for each in store.root.iterdir()] == [new.archive]
