"""An archive is read back on request; what is wrong with it is kept with its run and told, and the job is done."""

import logging

import pytest

from backups.errors import ArchiveMissing
from backups.models import BackupRun, BackupTarget
from backups.verification import request_verification
from backups.verify_handler import verify_archive
from hubqueue.models import Job
from hubqueue.testing import enqueued, move_clock, run_due_jobs
from notifications.models import Notification
from tests.backups.archive.made import write
from tests.backups.keeping.made import Run, ago, archive, run

pytestmark = pytest.mark.django_db


def verified():
    report = run_due_jobs(kinds=[verify_archive])
    row = BackupRun.objects.exclude(state=Run.RUNNING).first()
    return report, row


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_sound_archive_is_noted_as_verified(store, schedule, officer):
    officer("root", is_superuser=True)
    made = archive(store, schedule, days=1, verified_at=None)
    request_verification(made, "anna")
    report, row = verified()
    assert report.settled["backups.verify", "SUCCEEDED"] == 1
    assert row.verified_at
    assert row.findings == []
    assert not Notification.objects.exists()


def test_a_flipped_bit_is_a_finding_that_is_told_and_the_job_is_done(
    store, schedule, officer, caplog, django_capture_on_commit_callbacks
):
    officer("vera", "verify_backuprun", "view_backuprun")
    officer("blind", "verify_backuprun")
    made = archive(store, schedule, days=1, verified_at=None)
    flip(store.root / made.archive / "data" / "leads.lead.jsonl.zst")
    job = request_verification(made)
    with (
        caplog.at_level(logging.ERROR, "backups"),
        django_capture_on_commit_callbacks(execute=True),
    ):
        report, row = verified()
    assert report.settled["backups.verify", "SUCCEEDED"] == 1
    assert row.findings == ["backups.member_damaged"]
    assert row.verified_at
    assert Job.objects.get(pk=job).result == {"verified": True, "findings": row.findings}
    assert f"archive of run {made.pk} is not sound: backups.member_damaged" in caplog.text
    (told,) = Notification.objects.all()
    assert (told.recipient.username, told.category) == ("vera", "backups.archive_unsound")


def test_an_archive_that_is_gone_and_one_with_another_key_are_not_sound(store, schedule, settings):
    made = archive(store, schedule, days=1)
    settings.BACKUPS_KEYS = ""
    request_verification(made)
    assert verified()[1].findings == ["backups.key_missing"]
    for each in list(store.list()):
        store.delete(each.name)
    request_verification(made)
    assert verified()[1].findings == ["backups.archive_missing"]


def test_found_sound_again_it_has_no_findings_any_more(store, schedule):
    made = archive(store, schedule, days=1, findings=["backups.key_missing"])
    request_verification(made)
    assert verified()[1].findings == []


def test_a_target_that_does_not_answer_says_nothing_and_is_asked_again(store, schedule, settings):
    made = archive(store, schedule, days=1, verified_at=None)
    request_verification(made)
    volume, settings.BACKUPS_VOLUME = settings.BACKUPS_VOLUME, "/nowhere/at/all"
    report, row = verified()
    assert [each.code for each in report.failures] == ["backups.target_unreachable"]
    assert (row.verified_at, row.findings) == (None, [])
    settings.BACKUPS_VOLUME = volume
    with move_clock(verify_archive.backoff.cap):
        assert verified()[1].verified_at


def test_an_archive_that_is_not_encrypted_where_it_must_be_is_not_sound(store, schedule, target):
    started = ago(days=1)
    plain = write(store, None, started=started)
    made = run(target, started=started, archive=str(plain.name))
    request_verification(made)
    assert verified()[1].findings == ["backups.not_encrypted"]
    BackupTarget.objects.filter(pk=target.pk).update(
        encryption="none", plain_by="anna", plain_at=started
    )
    request_verification(made)
    assert verified()[1].findings == []


def test_asked_for_twice_it_is_one_job(store, schedule):
    made = archive(store, schedule, days=1)
    assert request_verification(made) == request_verification(made)
    assert len(enqueued(verify_archive)) == 1


def test_only_a_whole_archive_is_verified(store, schedule, target):
    started = ago(days=1)
    for row in (
        run(target, started=started, state=Run.FAILED, archive="some"),
        run(target, started=started, state=Run.EXPIRED, archive="some"),
        run(target, started=started),
        archive(store, schedule, days=2, expiring_at=started),
    ):
        with pytest.raises(ArchiveMissing):
            request_verification(row)


def test_an_archive_that_began_to_expire_meanwhile_is_not_called_damaged(
    store, schedule, monkeypatch, officer
):
    officer("root", is_superuser=True)
    made = archive(store, schedule, days=1, verified_at=None)
    request_verification(made)
    get = type(store).__mro__[1].get

    def expiring(opened, name):
        BackupRun.objects.filter(pk=made.pk).update(expiring_at=ago(days=0))
        opened.delete(f"{made.archive}/data/leads.lead.jsonl.zst")
        return get(opened, name)

    monkeypatch.setattr(type(store).__mro__[1], "get", expiring)
    row = verified()[1]
    assert (row.verified_at, row.findings) == (None, [])
    assert not Notification.objects.exists()
