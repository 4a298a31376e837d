"""What the tests of notifications share: a mail server, and nothing kept from one test to the next."""

import pytest

from notifications.mail.kept import kept
from tests.support.mail import mail_server


@pytest.fixture
def smtp(settings):
    """A real mail server, named in the settings."""
    with mail_server() as server:
        settings.NOTIFICATIONS_MAIL_URL = server.url
        yield server
        kept.close_all()
