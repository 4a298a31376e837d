"""A real local target, a schedule on it, and an installation with a key."""

import pytest
from django.contrib.auth.models import Permission, User

from backups.models import BackupSchedule, BackupTarget
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY


@pytest.fixture
def volume(tmp_path, settings):
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEY.text
    return tmp_path


@pytest.fixture
def target(volume):
    return BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})


@pytest.fixture
def store(volume):
    with Directory(volume / "target") as opened:
        yield opened


@pytest.fixture
def schedule(target):
    """Keeps the newest archive and nothing else."""
    nothing = dict.fromkeys(("keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"), 0)
    return BackupSchedule.objects.create(
        name="Every night", target=target, rule="0 3 * * *", keep_last=1, min_keep=1, **nothing
    )


@pytest.fixture
def officer():
    def make(name, *permissions, **fields):
        said = {"email": f"{name}@example.org", "is_staff": True, **fields}
        made = User.objects.create_user(name, **said)
        made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        return made

    return make
