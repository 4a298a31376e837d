"""The officers' pages in Django's admin. They read rows and call ``hubqueue.officers``; they write none."""

from hubqueue.admin import jobs, pauses, records, workers

__all__ = ["jobs", "pauses", "records", "workers"]
