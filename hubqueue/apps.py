"""The Django application."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class HubqueueConfig(AppConfig):
    name = "hubqueue"
    verbose_name = "Queue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from hubqueue import checks, logs, metrics  # noqa: F401  they register themselves

        logs.configure()

        autodiscover_modules("handlers")
