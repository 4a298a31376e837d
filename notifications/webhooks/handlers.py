"""Every kind of job and every duty of webhooks, for the queue to find."""

from notifications.webhooks.backlog import publish_backlog
from notifications.webhooks.deliver_handler import deliver
from notifications.webhooks.dispatch_handler import dispatch
from notifications.webhooks.retention_handler import retain

__all__ = ["deliver", "dispatch", "publish_backlog", "retain"]
