"""Every kind of job of this app, for the queue to find."""

from notifications.deliver_handler import deliver

__all__ = ["deliver"]
