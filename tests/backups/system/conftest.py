"""The real project's database, an empty one beside it, and the tools of the server's own version."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper

from config.embedded import binaries
from tests.backups.archive.directory import Directory
from tests.backups.data.databases import database


@pytest.fixture
def tools(settings: Any) -> Path:
    """Those of the server that the tests run on."""
    found = binaries.find()
    settings.BACKUPS_PG_BIN = str(found)
    return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Directory]:
    with Directory(tmp_path / "target") as opened:
        yield opened


@pytest.fixture
def copy(transactional_db: None) -> Iterator[BaseDatabaseWrapper]:
    with database("copy") as made:
        # The guard of Django's tests knows only the databases of the settings.
        made.ensure_connection = lambda: made.connect() if made.connection is None else None
        yield made
