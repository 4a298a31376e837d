"""The demo's first backup: taken once, read again each time, made anew when it is not sound."""

import shlex
import shutil
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from backups.decisions import plan_of
from backups.keys import MasterKey
from backups.models import BackupRun, BackupSchedule, BackupTarget
from backups.retention.plan import Plan
from config.embedded.home import own_directory
from demo.first_backup import FirstBackup, directory, runs_by_state
from hubqueue.testing import run_due_jobs

pytestmark = pytest.mark.django_db(transaction=True)
KEYS = MasterKey("demo", bytes(range(32))).text
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture
def volume(tmp_path: Path, settings, monkeypatch) -> Path:
    monkeypatch.delenv("BACKUPS_KEYS", raising=False)
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEYS
    return tmp_path


def started() -> FirstBackup:
    """As the demo does: until the archive was read again."""
    backup = FirstBackup()
    for _ in range(5):
        if not backup.follow():
            break
        run_due_jobs(queues=["backups"])
    return backup


def test_without_a_volume_or_a_key_there_is_none(volume, settings):
    assert directory() == volume / "demo"
    settings.BACKUPS_KEYS = ""
    assert directory() is None
    settings.BACKUPS_KEYS, settings.BACKUPS_VOLUME = KEYS, ""
    assert directory() is None


def test_it_is_taken_once_and_read_again_each_time(volume):
    assert started().faults() == []
    run = BackupRun.objects.get()
    assert run.verified_at > run.finished_at
    before = run.verified_at
    assert started().faults() == []
    run = BackupRun.objects.get()
    assert run.verified_at > before
    assert runs_by_state() == {"SUCCEEDED": 1}
    assert BackupTarget.objects.get().encryption == BackupTarget.Encryption.CLIENT
    assert [each.name for each in (volume / "demo").iterdir()] == [run.archive]


def test_its_schedule_is_daily_with_the_usual_plan(volume):
    started()
    schedule = BackupSchedule.objects.get()
    day = schedule.next_run_at - schedule.created_at
    assert 0 < day.total_seconds() <= 86_400
    assert schedule.runs.count() == 1
    assert plan_of(schedule) == Plan()


def test_it_says_where_it_is_who_sees_it_and_how_it_comes_back(volume, client):
    client.force_login(User.objects.create_superuser("officer"))
    said = list(started().lines(ADDRESS))
    run = BackupRun.objects.get()
    assert "sound." in said[0]
    assert str(volume / "demo" / run.archive) in said[1]
    pages = [word for line in said for word in line.split() if word.startswith(ADDRESS)]
    assert len(pages) == 2
    for page in pages:
        assert client.get(page.removeprefix(ADDRESS)).status_code == 200
    keys = shlex.quote(str(own_directory() / "backup-keys"))
    assert f'BACKUPS_KEYS="$(cat {keys})"' in "\n".join(said)
    assert said[-1].endswith(f"restore {run.archive} --directory {volume / 'demo'}")


def test_an_archive_that_is_gone_is_told_and_the_next_demo_makes_another(volume):
    started()
    shutil.rmtree(volume / "demo")
    (gone,) = started().faults()
    assert gone.endswith("backups.archive_missing")
    backup = started()
    assert backup.faults() == []
    assert "sound." in next(backup.lines(ADDRESS))
    assert runs_by_state() == {"SUCCEEDED": 2}


def test_a_run_that_failed_is_told_and_the_next_demo_starts_another(volume, settings):
    settings.BACKUPS_KEYS = ""
    assert "backups.keys_unusable" in next(started().lines(ADDRESS))
    settings.BACKUPS_KEYS = KEYS
    assert "sound." in next(started().lines(ADDRESS))
    assert runs_by_state() == {"FAILED": 1, "SUCCEEDED": 1}
