"""The Django application."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = "Notifications"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from notifications import checks, logs, metrics  # noqa: F401  registers checks and receivers
        from notifications.categories import register
        from notifications.trial import TRIAL
        from notifications.webhooks import checks as webhook_checks  # noqa: F401
        from notifications.webhooks import logs, metrics  # noqa: F401  registers receivers
        from notifications.webhooks.category import register_category

        register(TRIAL)
        register_category()
