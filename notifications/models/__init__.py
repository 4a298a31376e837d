"""The rows of the notifications app."""

from notifications.models.people import Preference, Reader
from notifications.models.records import Channel, Notification

__all__ = ["Channel", "Notification", "Preference", "Reader"]
