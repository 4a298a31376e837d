"""The Django application."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = "Notifications"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from notifications import checks  # noqa: F401  registers the checks
        from notifications.categories import register
        from notifications.trial import TRIAL

        register(TRIAL)
