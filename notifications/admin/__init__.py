"""The officers' pages of the notifications app."""

from django.apps import apps

# A project without Django's admin has none of them. The template tags are imported all the same.
if apps.is_installed("django.contrib.admin"):
    from notifications.admin import (
        held,
        now,
        records,
        webhook_messages,
        webhook_subscriptions,
    )

    __all__ = ["held", "now", "records", "webhook_messages", "webhook_subscriptions"]
