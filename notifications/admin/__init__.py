"""The officers' pages of the notifications app."""

from notifications.admin import records, webhook_messages, webhook_subscriptions

__all__ = ["records", "webhook_messages", "webhook_subscriptions"]
