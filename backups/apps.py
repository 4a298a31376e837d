"""The Django application."""

from django.apps import AppConfig


class BackupsConfig(AppConfig):
    name = "backups"
    verbose_name = "Backups"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from backups import checks  # noqa: F401 - registers
