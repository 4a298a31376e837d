"""All that listens to webhooks and checks them, in one import."""

from notifications.webhooks import checks, logs, metrics

__all__ = ["checks", "logs", "metrics"]
