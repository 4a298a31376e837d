"""An endpoint, a subscription to it, and time that can be moved."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth import get_user_model
from standardwebhooks import Webhook

from hubqueue.models import Job
from hubqueue.testing import move_clock, run_due_jobs
from notifications.services import emit
from notifications.webhooks.events import register_event_type
from notifications.webhooks.subscribing import subscribe
from tests.webhooks.endpoint import serving

WEBHOOKS = ("webhooks.dispatch", "webhooks.deliver")


@pytest.fixture(autouse=True)
def quick(settings):
    """Loopback is private: the tests of refusals take this back."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    settings.WEBHOOKS_TIMEOUT = 0.4
    settings.WEBHOOKS_DEADLINE = 0.8
    register_event_type("test.happened", "Something happened")
    register_event_type("test.other", "Something else happened")


@pytest.fixture
def endpoint():
    with serving() as made:
        yield made


@pytest.fixture
def owner(db):
    return get_user_model().objects.create_user("owner", "owner@example.org")


class Subscribed:
    """A subscription with its secret, and what a test asks of it."""

    def __init__(self, row, secret):
        self.row = row
        self.secret = secret

    @property
    def now(self):
        self.row.refresh_from_db()
        return self.row


@pytest.fixture
def subscribed(endpoint, owner):
    return Subscribed(
        *subscribe(name="shop", url=endpoint.url, event_types=["test.happened"], owner=owner)
    )


class Later:
    """A clock of this test: ``offset`` is how far it is ahead of this machine's."""

    def __init__(self, stack):
        self._stack = stack
        self.offset = timedelta(0)

    @property
    def now(self):
        return datetime.now(UTC) + self.offset

    def by(self, wait):
        self._stack.enter_context(move_clock(wait))
        self.offset += wait

    def to_next_attempt(self):
        """Go to the moment of the next attempt, run it, and answer how long that took."""
        moment = Job.objects.get(kind="webhooks.deliver", state="READY").run_at
        wait = moment - self.now + timedelta(seconds=1)
        if wait > timedelta(0):
            self.by(wait)
        run()
        return wait


@pytest.fixture
def later(db):
    with ExitStack() as stack:
        yield Later(stack)


def run():
    return run_due_jobs(kinds=WEBHOOKS)


def happen(**said):
    emit("test.happened", data={"order": "Ö 1"}, subject="order/1", **said)
    return run()


def verified(received, secret, *, offset=timedelta(0)):
    """What the reference library says the request carries. Raises when the signature is not valid there and then."""
    with time_machine.travel(datetime.now(UTC) + offset):
        return Webhook(secret).verify(received.body, received.headers)
