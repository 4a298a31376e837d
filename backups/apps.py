"""The Django application."""

from django.apps import AppConfig


class BackupsConfig(AppConfig):
    name = "backups"
    verbose_name = "Backups"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from backups import checks, logs, metrics  # noqa: F401 - registers
        from backups.categories import CATEGORIES
        from backups.stale_notice import SCHEDULE_STALE
        from notifications.categories import register

        for category in (*CATEGORIES, SCHEDULE_STALE):
            register(category)
