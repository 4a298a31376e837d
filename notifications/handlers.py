"""Every kind of job of this app, for the queue to find."""

from notifications.deliver_handler import deliver
from notifications.mail.breaker import probe
from notifications.retention_handler import forget
from notifications.trial_handler import mail_trial
from notifications.webhooks import handlers as webhooks

__all__ = ["deliver", "forget", "mail_trial", "probe", "webhooks"]
