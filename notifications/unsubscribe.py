"""The way out that every message of a kind one can switch off carries: RFC 2369 and RFC 8058."""

from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.urls import reverse

from notifications.categories import category
from notifications.models import Channel, Notification
from notifications.rendering import absolute

ONE_CLICK = ("List-Unsubscribe", "One-Click")  # the one field of the form that RFC 8058 has posted
_SALT = "notifications.unsubscribe"


@dataclass(frozen=True, slots=True)
class Switch:
    """What a link switches off, and nothing else: one kind of mail of one person (a key)."""

    person: Any
    category: str
    channel: str


def unsubscribe_headers(notification: Notification) -> dict[str, str]:
    """The headers a mail program makes its button of; none for a kind that cannot be switched off.

    One click is promised over https only, as RFC 8058 asks. Sign both headers with DKIM.
    """
    url = unsubscribe_url(notification)
    if not url:
        return {}
    headers = {"List-Unsubscribe": f"<{url}>"}
    if url.startswith("https://"):
        headers["List-Unsubscribe-Post"] = "=".join(ONE_CLICK)
    return headers


def unsubscribe_url(notification: Notification) -> str:
    """The same link for the message's text; empty for a kind that cannot be switched off."""
    if not category(notification.category).suppressible:
        return ""
    token = sign(
        Switch(notification.recipient_id, notification.category, str(notification.channel))
    )
    return absolute(reverse("notifications:unsubscribe", args=[token]))


def sign(switch: Switch) -> str:
    """A token for the URL. It does not expire: an old mail's link works, and all it does is switch off.

    Its signature is checked with the secret key and its fallbacks.
    """
    person = switch.person if isinstance(switch.person, int) else str(switch.person)
    return _signer().sign_object([person, switch.category, switch.channel])


def read(token: str) -> Switch | None:
    """What a token switches off, or None for one that this installation did not sign."""
    try:
        person, name, channel = _signer().unsign_object(token)
        return Switch(person, name, Channel(channel))
    except (signing.BadSignature, ValueError, TypeError):
        return None


def _signer() -> signing.Signer:
    return signing.Signer(sep=".", salt=_SALT)
