"""The Django application."""

from django.apps import AppConfig


class LeadsConfig(AppConfig):
    name = "leads"
    verbose_name = "Leads"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from leads import checks, logs, metrics  # noqa: F401  registers checks and receivers
        from leads.parked_notice import REQUEST_PARKED
        from notifications.categories import register
        from notifications.webhooks.events import register_event_type

        register(REQUEST_PARKED)
        register_event_type(REQUEST_PARKED.name, REQUEST_PARKED.label)
