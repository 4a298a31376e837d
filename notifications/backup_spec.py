"""What is backed up of notifications and webhooks, as plain data.

The secrets of subscriptions are sealed in their rows: they open with the installation's own SECRET_KEY only.
Restored, what waited to be sent is held until an officer releases or drops it, and subscriptions are disabled.
"""

# Who began to send cannot be asked any more: the message may have arrived.
_NOTIFICATION = """
UPDATE notifications_notification
SET state = 'held', reason = 'restored',
    uncertain_since = coalesce(uncertain_since, sending_since), sending_since = NULL
WHERE state = 'pending' AND {rows}
"""

_SUBSCRIPTION = """
UPDATE notifications_webhooksubscription
SET state = 'disabled', reason = 'restored', disabled_at = hubqueue_now()
WHERE state = 'active' AND {rows}
"""

_MESSAGE = """
UPDATE notifications_webhookmessage
SET state = 'held', reason = 'restored', next_attempt_at = NULL
WHERE state = 'pending' AND {rows}
"""

_DELIVERY = """
UPDATE notifications_webhookdelivery SET outcome = 'interrupted' WHERE outcome = '' AND {rows}
"""

BACKUP = (
    {
        "model": "notifications.Notification",
        "tenant": "tenant_id",
        "quiet": [{"sql": _NOTIFICATION, "since": "0003_held"}],
    },
    {"model": "notifications.Reader"},
    {"model": "notifications.Preference"},
    {
        "model": "notifications.WebhookSubscription",
        "tenant": "tenant_id",
        "quiet": [{"sql": _SUBSCRIPTION, "since": "0002_webhooks"}],
    },
    {
        "model": "notifications.WebhookMessage",
        "tenant": "tenant_id",
        "quiet": [{"sql": _MESSAGE, "since": "0003_held"}],
    },
    {
        "model": "notifications.WebhookDelivery",
        "tenant": "message__tenant_id",
        "quiet": [{"sql": _DELIVERY, "since": "0002_webhooks"}],
    },
)
