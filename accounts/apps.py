"""The Django application."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from accounts import categories, checks, logs, metrics, ways_in  # noqa: F401  each registers its own

        ways_in.watch_passwords()
