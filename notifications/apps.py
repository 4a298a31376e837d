"""The Django application."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = "Notifications"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from notifications import checks, logs, metrics  # noqa: F401  registers checks and receivers
        from notifications.categories import register
        from notifications.leaving import lock_who_is_deleted
        from notifications.trial import TRIAL
        from notifications.webhooks import receivers  # noqa: F401  the same of webhooks
        from notifications.webhooks.category import SWITCHED_OFF_CATEGORY

        lock_who_is_deleted()
        register(TRIAL)
        register(SWITCHED_OFF_CATEGORY)
