"""An archive that is not sound goes when an officer says so; no other does, and no plan says so."""

import pytest

from backups import officers
from backups.errors import ArchiveKept, ArchiveMissing, TargetDisabled
from backups.expiry import expire_after
from backups.models import BackupRestore, BackupRun, BackupTarget
from hubqueue.models import Job, Operation
from hubqueue.testing import run_due_jobs
from tests.backups.keeping.made import Run, ago, archive, complete, run, states

pytestmark = pytest.mark.django_db
DAMAGED = ["backups.member_damaged"]


def remove(row):
    officers.remove(row, actor="boss", reason="no room")


@pytest.fixture
def unsound(store, schedule):
    """As the schedule's plan leaves it: far older than what stays."""
    made = archive(store, schedule, days=90, findings=DAMAGED)
    assert expire_after(archive(store, schedule, days=1), store) == 0
    return made


def test_it_goes_at_the_target_and_leaves_a_word_and_its_row(store, unsound):
    before = complete(store)
    remove(unsound)
    run_due_jobs(queues=["backups"])
    assert set(before) - set(complete(store)) == {unsound.archive}
    assert not list(store.list(f"{unsound.archive}/"))
    assert states(unsound) == ["EXPIRED"]
    said = Operation.objects.get()
    assert (said.verb, said.actor, said.reason) == ("backups.remove", "boss", "no room")
    with pytest.raises(ArchiveMissing):
        remove(unsound)


def refused(row, words):
    with pytest.raises(ArchiveKept, match=words):
        remove(row)
    assert BackupRun.objects.get(pk=row.pk).expiring_at is None
    assert not Job.objects.exists()
    assert not Operation.objects.exists()


def test_what_is_sound_or_never_verified_stays(store, schedule):
    refused(archive(store, schedule, days=3), "found nothing wrong")
    refused(archive(store, schedule, days=2, verified_at=None), "found nothing wrong")


def test_what_is_pinned_stays_until_it_is_not(unsound):
    BackupRun.objects.filter(pk=unsound.pk).update(pinned_until=ago(days=-1))
    refused(unsound, "unpin it first")
    BackupRun.objects.filter(pk=unsound.pk).update(pinned_until=ago(days=1))
    remove(unsound)


def test_what_a_restore_reads_stays_until_that_has_ended(unsound):
    reading = BackupRestore.objects.create(run=unsound, mode="inspect")
    refused(unsound, "a restore reads it")
    reading.delete()
    remove(unsound)


@pytest.mark.parametrize("state", [Run.RUNNING, Run.SUCCEEDED])
def test_what_another_one_goes_on_from_stays_until_that_is_gone(unsound, state):
    part = {"mode": "incremental", "parent": unsound, "archive": "part", "findings": DAMAGED}
    child = run(unsound.target, started=ago(days=2), state=state, **part)
    refused(unsound, "an incremental one goes on from it")
    if state == Run.RUNNING:
        BackupRun.objects.filter(pk=child.pk).update(state=Run.FAILED, finished_at=ago(days=1))
    else:
        remove(child)
    remove(unsound)


def test_nothing_is_deleted_at_a_target_that_is_not_enabled(unsound):
    BackupTarget.objects.update(enabled=False)
    with pytest.raises(TargetDisabled):
        remove(unsound)
