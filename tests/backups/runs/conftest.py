"""A target in a local directory, and what lies there."""

from pathlib import Path

import pytest

from backups.keys import MasterKey
from backups.models import BackupTarget

KEY = MasterKey("one", bytes(range(32)))


@pytest.fixture
def volume(tmp_path: Path, settings) -> Path:
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEY.text
    return tmp_path


@pytest.fixture
def cellar(volume: Path, transactional_db: None) -> BackupTarget:
    return BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})
