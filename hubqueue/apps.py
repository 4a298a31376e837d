"""The Django application."""

import django_stubs_ext
from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

# Some of Django's generic classes (ModelAdmin, Field) take their parameters only after this, and the
# settings of a project that adopts the queue need not know that.
django_stubs_ext.monkeypatch()


class HubqueueConfig(AppConfig):
    name = "hubqueue"
    verbose_name = "Queue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from hubqueue import checks, logs, metrics  # noqa: F401  they register themselves
        from hubqueue.lifecycle.forked import watch_forks
        from hubqueue.scheduler import checks as schedules  # noqa: F401  so does this

        logs.configure()
        watch_forks()

        autodiscover_modules("handlers")
