"""The officers' pages of the backups app."""

from django.apps import apps

# A project without Django's admin has none of them.
if apps.is_installed("django.contrib.admin"):
    from backups.admin import now, restores, runs, schedules, targets

    __all__ = ["now", "restores", "runs", "schedules", "targets"]
