"""Every kind of job of this app, for the queue to find."""

from notifications.deliver_handler import deliver
from notifications.mail.breaker import probe
from notifications.retention_handler import forget
from notifications.webhooks import handlers as webhooks

__all__ = ["deliver", "forget", "probe", "webhooks"]
