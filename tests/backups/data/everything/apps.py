from django.apps import AppConfig


class EverythingConfig(AppConfig):
    name = "tests.backups.data.everything"
    label = "everything"
    default_auto_field = "django.db.models.BigAutoField"
