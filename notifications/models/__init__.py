"""The rows of the notifications app."""

from notifications.models.people import Preference, Reader
from notifications.models.records import Channel, Notification
from notifications.models.webhooks import WebhookDelivery, WebhookMessage, WebhookSubscription

__all__ = [
    "Channel",
    "Notification",
    "Preference",
    "Reader",
    "WebhookDelivery",
    "WebhookMessage",
    "WebhookSubscription",
]
