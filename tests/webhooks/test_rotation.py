"""Two secrets while one follows the other, and what becomes of them when the installation's key changes."""

from datetime import timedelta

import pytest
from standardwebhooks import WebhookVerificationError

from hubqueue.models import Job
from hubqueue.testing import run_due_jobs
from notifications.errors import WebhookVerbRefused
from notifications.webhooks.officers import rotate
from notifications.webhooks.retention_handler import retain
from tests.webhooks.conftest import happen, verified
from tests.webhooks.endpoint import reply

pytestmark = pytest.mark.django_db


def turn(subscribed):
    since = subscribed.now.rotated_at
    return rotate(subscribed.row.pk, since=since, actor="ada", reason="yearly")


def test_both_secrets_are_valid_for_a_day_and_then_the_new_one_alone(endpoint, subscribed, later):
    """A message that failed before the rotation is signed with both after it."""
    endpoint.answer = lambda handler: reply(handler, 500)
    happen()
    new = turn(subscribed)
    endpoint.answer = lambda handler: reply(handler, 204)
    later.to_next_attempt()
    first, second = endpoint.received
    with pytest.raises(WebhookVerificationError):
        verified(first, new)
    assert first.body == second.body
    for secret in (subscribed.secret, new):
        assert verified(second, secret, offset=later.offset)
    assert len(second.headers["webhook-signature"].split(" ")) == 2
    later.by(timedelta(hours=24))
    happen()
    assert verified(endpoint.received[2], new, offset=later.offset)
    with pytest.raises(WebhookVerificationError):
        verified(endpoint.received[2], subscribed.secret, offset=later.offset)


def test_the_old_secret_is_forgotten_when_it_is_void(subscribed, later):
    turn(subscribed)
    for hours, kept in ((23, True), (2, False)):
        later.by(timedelta(hours=hours))
        retain.enqueue()
        run_due_jobs(kinds=[retain])
        assert bool(subscribed.now.previous_secret) is kept


def test_a_rotation_that_is_asked_for_twice_is_done_once(subscribed):
    since = subscribed.now.rotated_at
    rotate(subscribed.row.pk, since=since, actor="ada", reason="yearly")
    kept = subscribed.now.previous_secret
    with pytest.raises(WebhookVerbRefused, match="changed meanwhile"):
        rotate(subscribed.row.pk, since=since, actor="ada", reason="yearly")
    assert subscribed.now.previous_secret == kept


def test_a_message_waits_while_its_secret_cannot_be_read(endpoint, subscribed, settings, later):
    """The key was changed and the old one not kept: nothing is sent unsigned, nothing is lost."""
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another key " * 5
    happen()
    job = Job.objects.get(kind="webhooks.deliver")
    assert (job.state, job.attempts) == ("READY", 0)
    assert job.error_code == "notifications.seal_broken"
    assert endpoint.received == []
    settings.SECRET_KEY_FALLBACKS = [old]
    later.to_next_attempt()
    assert verified(endpoint.received[0], subscribed.secret, offset=later.offset)


def test_a_rotation_heals_a_subscription_whose_key_is_lost(endpoint, subscribed, settings, later):
    settings.SECRET_KEY = "another key " * 5
    happen()
    new = turn(subscribed)
    later.to_next_attempt()
    assert verified(endpoint.received[0], new, offset=later.offset)


def test_after_a_rotation_the_old_key_is_needed_no_more(endpoint, subscribed, settings):
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another key " * 5
    settings.SECRET_KEY_FALLBACKS = [old]
    new = turn(subscribed)
    settings.SECRET_KEY_FALLBACKS = []
    happen()
    for secret in (subscribed.secret, new):
        assert verified(endpoint.received[0], secret)
