"""What ``manage.py check`` says about the settings of webhooks."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

from hubqueue.appsettings import read
from notifications.webhooks.conf import Conf


@register()
def check_settings(**_: Any) -> Sequence[CheckMessage]:
    """webhooks.E001: a setting that cannot be used."""
    return [Error(each, id="webhooks.E001") for each in read(Conf).problems()]


@register(Tags.security, deploy=True)
def check_private_networks(**_: Any) -> Sequence[CheckMessage]:
    """webhooks.W001: whoever may write a subscription reaches what only this machine should."""
    if read(Conf).webhooks_allow_private is not True:
        return []
    said = (
        "WEBHOOKS_ALLOW_PRIVATE is on: subscriptions may call private addresses, those of a cloud's metadata"
        " service too. Expected off in production, unless a firewall holds these calls back."
    )
    return [checks.Warning(said, id="webhooks.W001")]
