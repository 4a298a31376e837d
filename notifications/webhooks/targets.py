"""Whether a URL may be subscribed, said at once and in words. Every attempt checks anew."""

import ipaddress

from notifications.webhooks.conf import conf
from outbound.addresses import is_public
from outbound.errors import AddressRefused, UrlRefused
from outbound.resolve import resolve
from outbound.urls import Target, target_of

PATIENCE = 2.0


def check_target(url: str) -> None:
    """Raises ``UrlRefused`` or ``AddressRefused``. A host that does not resolve now may do so later."""
    target = check_url(url)
    if conf().webhooks_allow_private:
        return
    if not all(map(is_public, _addresses(target))):
        raise AddressRefused(
            "the host is, or resolves to, a private or reserved address, which is not called; an operator may"
            " allow it with WEBHOOKS_ALLOW_PRIVATE"
        )


def check_url(url: str) -> Target:
    """What is asked of the URL itself, at a subscription and at every attempt. Raises as ``check_target``."""
    target = target_of(url)
    if not target.tls and not conf().webhooks_allow_private:
        raise UrlRefused("expected https://, for what is sent is nobody else's to read")
    return target


def _addresses(target: Target) -> list[str]:
    try:
        ipaddress.ip_address(target.host)
    except ValueError:
        pass
    else:
        return [target.host]
    try:
        found = resolve(target.host, target.port or 443, within=PATIENCE)
    except (OSError, UnicodeError):
        return []
    return [str(where[0]) for *_, where in found]
