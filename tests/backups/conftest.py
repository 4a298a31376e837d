"""What all tests of backups may ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backups.models import BackupTarget
from tests.backups.archive.made import KEY
from tests.support import accounts


@pytest.fixture
def cellar(tmp_path: Path, settings: Any) -> BackupTarget:
    """A target in a directory of the test, whose archives are encrypted by ``KEY``."""
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEY.text
    return BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})


@pytest.fixture
def account(transactional_db: None) -> Iterator[str]:
    """The name of an account of the database with the rights that web and workers need."""
    with accounts.account() as made:
        yield made
