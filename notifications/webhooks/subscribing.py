"""A new subscription and its secret."""

from collections.abc import Iterable
from typing import Any

from notifications.models import WebhookSubscription
from notifications.webhooks.events import event_type
from notifications.webhooks.sign import new_secret, sealed
from notifications.webhooks.targets import check_target


def subscribe(
    *, name: str, url: str, event_types: Iterable[str], owner: Any = None, tenant: str | None = None
) -> tuple[WebhookSubscription, str]:
    """Store a subscription; answers it and its secret, which nobody can ask for again.

    ``owner`` is an account, told when it is switched off. Raises ``OutboundError`` for a URL that is not
    called, ``EventTypeUnknown`` for a type that no application registered.
    """
    check_target(url)
    types = [event_type(each).name for each in event_types]
    secret = new_secret()
    made = WebhookSubscription.objects.create(
        name=name,
        url=url,
        event_types=types,
        owner=owner,
        tenant_id=tenant,
        secret=sealed(secret),
    )
    return made, secret
