from django.apps import AppConfig


class GalleryConfig(AppConfig):
    name = "tests.backups.files.gallery"
    label = "gallery"
    default_auto_field = "django.db.models.BigAutoField"
