"""What the tests of backups may ask for."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from tests.backups.data.databases import Pair, create, database, installed


@pytest.fixture(scope="module")
def _pair(django_db_blocker: Any) -> Iterator[Pair]:
    with django_db_blocker.unblock(), override_settings(INSTALLED_APPS=installed()):
        with database("source") as source, database("copy") as copy:
            create(source)
            create(copy)
            yield Pair()


@pytest.fixture
def pair(_pair: Pair, django_db_blocker: Any) -> Iterator[Pair]:
    """Empty tables on both sides."""
    with django_db_blocker.unblock():
        yield _pair
        _pair.empty()
