"""What all tests of backups may ask for."""

from collections.abc import Iterator

import pytest

from tests.support import accounts


@pytest.fixture
def account(transactional_db: None) -> Iterator[str]:
    """The name of an account of the database with the rights that web and workers need."""
    with accounts.account() as made:
        yield made
