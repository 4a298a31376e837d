"""What ``manage.py check`` says about the settings of webhooks, and what their metrics count."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from prometheus_client import REGISTRY

from notifications.webhooks.checks import check_private_networks, check_settings
from notifications.webhooks.conf import conf
from tests.webhooks.conftest import happen
from tests.webhooks.endpoint import reply


@pytest.mark.parametrize(
    ("setting", "given"),
    [
        ("WEBHOOKS_IN_FLIGHT", 0),
        ("WEBHOOKS_IN_FLIGHT", "many"),
        ("WEBHOOKS_ALLOW_PRIVATE", "yes"),
        ("WEBHOOKS_DEADLINE", 0.1),
        ("WEBHOOKS_DEADLINE", 61.0),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_by_check(settings, setting, given):
    assert check_settings() == []
    setattr(settings, setting, given)
    assert [each.id for each in check_settings()] == ["webhooks.E001"]
    with pytest.raises(ImproperlyConfigured, match=setting):
        conf()


def test_a_deployment_that_calls_private_addresses_is_warned(settings):
    assert [each.id for each in check_private_networks()] == ["webhooks.W001"]
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    assert check_private_networks() == []


@pytest.mark.django_db
def test_attempts_and_ends_are_counted_by_code(endpoint, subscribed):
    watched = {
        "webhooks_attempt_seconds_count": {"outcome": "gone"},
        "webhooks_messages_total": {"state": "dead", "reason": "gone"},
        "webhooks_disabled_total": {"reason": "gone"},
    }

    def counted():
        return [REGISTRY.get_sample_value(name, labels) or 0 for name, labels in watched.items()]

    before = counted()
    endpoint.answer = lambda handler: reply(handler, 410)
    happen()
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 1]
