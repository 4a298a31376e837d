"""The Django application."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class BackupsConfig(AppConfig):
    name = "backups"
    verbose_name = "Backups"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from backups import checks, logs, metrics  # noqa: F401 - registers
        from backups.categories import CATEGORIES
        from backups.changes.follow import follow_migrations
        from backups.restore_notice import RESTORE_FAILED
        from backups.stale_notice import SCHEDULE_STALE
        from notifications.categories import register

        for category in (*CATEGORIES, SCHEDULE_STALE, RESTORE_FAILED):
            register(category)
        post_migrate.connect(follow_migrations, sender=self)
