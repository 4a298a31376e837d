"""The message to the owner of a subscription that was switched off.

It cannot be switched off: it is the only word that a service its owner set up has ended, and it comes once
per switching off, after which a person has to act before there can be another.
"""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from notifications.categories import Category, Subject
from notifications.models import WebhookSubscription
from notifications.webhooks.outcomes import Off

if TYPE_CHECKING:
    from notifications.models import Notification

SWITCHED_OFF = "webhooks.switched_off"


def _describe(record: "Notification") -> Subject | None:
    subscription = WebhookSubscription.objects.filter(pk=record.subject_id).first()
    if subscription is None:
        return None
    return Subject(_values(subscription), _path(subscription))


def _path(subscription: WebhookSubscription) -> str:
    """Its page, in a project that has the admin."""
    try:
        return reverse("admin:notifications_webhooksubscription_change", args=[subscription.pk])
    except NoReverseMatch:
        return "/"


def _values(subscription: WebhookSubscription) -> dict[str, object]:
    return {
        "name": subscription.name,
        "host": urlsplit(subscription.url).hostname or "",
        "gone": subscription.reason == Off.GONE,
    }


def _sample() -> Subject:
    return Subject({"name": "Orders to the shop", "host": "shop.example.org", "gone": False}, "/")


SWITCHED_OFF_CATEGORY = Category(
    SWITCHED_OFF,
    _("A webhook subscription was switched off"),
    suppressible=False,
    describe=_describe,
    sample=_sample,
)
