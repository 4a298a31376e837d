"""What is backed up of notifications and webhooks, as plain data.

The secrets of subscriptions are sealed in their rows: they open with the installation's own SECRET_KEY only.
"""

BACKUP = (
    {"model": "notifications.Notification", "tenant": "tenant_id"},
    {"model": "notifications.Reader"},
    {"model": "notifications.Preference"},
    {"model": "notifications.WebhookSubscription", "tenant": "tenant_id"},
    {"model": "notifications.WebhookMessage", "tenant": "tenant_id"},
    {"model": "notifications.WebhookDelivery", "tenant": "message__tenant_id"},
)
