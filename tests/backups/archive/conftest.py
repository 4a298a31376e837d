"""What the tests of backups may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backups.archive.directory import Directory


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Directory]:
    with Directory(tmp_path / "target") as opened:
        yield opened
