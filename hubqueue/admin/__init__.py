"""The officers' pages in Django's admin. They read rows and call ``hubqueue.officers``; they write none."""

from django.apps import apps

# A project without Django's admin has none of them. The template tags are imported all the same.
if apps.is_installed("django.contrib.admin"):
    from hubqueue.admin import dashboard, jobs, pauses, records, workers

    __all__ = ["dashboard", "jobs", "pauses", "records", "workers"]
