"""What ``manage.py check`` says about the settings of this app."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004 Django's name

from accounts.conf import Conf
from hubqueue.appsettings import read


@register()
def check_settings(**_: Any) -> Sequence[CheckMessage]:
    """accounts.E001: a setting that cannot be used. accounts.W001: a proxy that would be counted as the client.

    accounts.W002: limits that would keep somebody out of their account.
    """
    conf = read(Conf)
    found: list[CheckMessage] = [Error(each, id="accounts.E001") for each in conf.problems()]
    behind_proxy = getattr(settings, "SECURE_PROXY_SSL_HEADER", None) is not None
    if not found and behind_proxy and not conf.accounts_trusted_proxies:
        found.append(
            Warning(
                "A proxy stands in front, and ACCOUNTS_TRUSTED_PROXIES is empty: all people count as one"
                " client, whose forgotten and wrong passwords are limited together. Set it to the proxy's network.",
                id="accounts.W001",
            )
        )
    if not found and conf.window > conf.link_life:
        found.append(
            Warning(
                "ACCOUNTS_WINDOW_MINUTES is longer than ACCOUNTS_LINK_MINUTES: whoever asks for somebody else's"
                " forgotten password up to the limit leaves them without a link that works. Make it shorter.",
                id="accounts.W002",
            )
        )
    return found
