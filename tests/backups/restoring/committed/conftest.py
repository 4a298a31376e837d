"""The same, committed anew for each test: for archives of what a test changed, and for other processes."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from backups.models import BackupRun, BackupTarget
from leads.models import Event
from tests.backups.restoring.conftest import KEY, archive_of, fill


@pytest.fixture
def volume(tmp_path: Path, settings: Any, transactional_db: None) -> Path:
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEY.text
    return tmp_path


@pytest.fixture
def cellar(volume: Path) -> BackupTarget:
    return BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})


@pytest.fixture
def boss(volume: Path) -> User:
    return User.objects.create_user("boss", email="boss@example.org")


@pytest.fixture
def acme(boss: User, cellar: BackupTarget) -> Event:
    fill("other", boss)
    return fill("acme", boss)


@pytest.fixture
def archived(acme: Event, cellar: BackupTarget) -> BackupRun:
    """An archive of the tenant acme, made by a person."""
    return archive_of("acme", cellar)
