"""A target, a schedule on it, runs in any state, and members of staff with exactly some permissions."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from backups.models import BackupRun, BackupSchedule, BackupTarget
from hubqueue.querysets import database_now
from tests.backups.archive.made import KEY

Run = BackupRun.State


@pytest.fixture
def target(tmp_path, settings):
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEY.text
    return BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})


@pytest.fixture
def schedule(target):
    return BackupSchedule.objects.create(name="Every night", target=target, rule="0 3 * * *")


@pytest.fixture
def made(target):
    def make(state=Run.SUCCEEDED, *, days=1, **fields):
        started = database_now("default") - timedelta(days=days)
        ended = None if state == Run.RUNNING else started + timedelta(minutes=3)
        said = {"trigger": "schedule", "archive": f"all-{days}", **fields}
        return BackupRun.objects.create(
            target=target, state=state, started_at=started, finished_at=ended, **said
        )

    return make


@pytest.fixture
def officer():
    def log_in(*names):
        user = User.objects.create_user("ada", is_staff=True)
        user.user_permissions.set(
            Permission.objects.get(content_type__app_label="backups", codename=each)
            for each in names
        )
        client = Client()
        client.force_login(user)
        return client

    return log_in
