from django.apps import AppConfig


class KnotsConfig(AppConfig):
    name = "tests.backups.restoring.knots"
    label = "knots"
    default_auto_field = "django.db.models.BigAutoField"
