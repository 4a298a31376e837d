"""What the tests of backups may ask for."""

from pathlib import Path

import pytest

from tests.backups.archive.directory import Directory


@pytest.fixture
def store(tmp_path: Path) -> Directory:
    return Directory(tmp_path / "target")
