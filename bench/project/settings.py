"""Settings of the benchmark's project: as the quickstart has them, on the database of one system."""

import os
from typing import Any

from config.database import database

SECRET_KEY = "only-for-measuring"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "hubqueue",
    "bench.project",
]
if os.environ.get("BENCH_LEADS"):
    INSTALLED_APPS.append("leads")
    LEADS_SINK = "leads.sinks.DatabaseSink"
DATABASES = {"default": database(os.environ["BENCH_DSN"])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
HUBQUEUE: dict[str, Any] = {"QUEUES": ("default", "leads")}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}
