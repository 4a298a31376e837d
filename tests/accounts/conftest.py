"""What the tests of accounts share: people, a mail server, and what a mail of it says."""

import re

import pytest
from django.contrib.auth import get_user_model

from hubqueue.testing import run_due_jobs
from notifications.mail.kept import kept
from tests.support.mail import mail_server

PASSWORD = "a pass phrase of old"
NEW = "quite another pass phrase"


@pytest.fixture
def smtp(settings):
    """A real mail server, named in the settings."""
    settings.NOTIFICATIONS_FROM = "Hub <hub@example.org>"
    with mail_server() as server:
        settings.NOTIFICATIONS_MAIL_URL = server.url
        yield server
        kept.close_all()


@pytest.fixture
def ada(db):
    return person("ada")


def person(name, **fields):
    said = {"email": f"{name}@example.org", "password": PASSWORD, **fields}
    return get_user_model().objects.create_user(name, **said)


def text_of(mail):
    return mail.message.get_body(("plain",)).get_content()


def token_in(mail):
    """What stands behind the # of the one link of the mail."""
    (found,) = set(re.findall(r"http://[^\s#]+#([\w-]+)", text_of(mail)))
    return found


def mails_to(smtp, address):
    return [each for each in smtp.mails if each.recipient == address]


def run_all():
    """Everything that is due; what failed is raised."""
    return run_due_jobs(raise_failures=True)
