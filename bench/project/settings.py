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
if os.environ.get("BENCH_MAIL") or os.environ.get("BENCH_LEADS"):
    INSTALLED_APPS += [
        "django.contrib.admin",
        "django.contrib.sessions",
        "django.contrib.messages",
        "notifications",
    ]
    NOTIFICATIONS_BASE_URL = "https://jobs.example"
    NOTIFICATIONS_MAIL_URL = os.environ.get("BENCH_MAIL", "")
    NOTIFICATIONS_FROM = "hubqueue <no-reply@jobs.example>"
    LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    TEMPLATES = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {},
        }
    ]
if os.environ.get("BENCH_LEADS"):
    INSTALLED_APPS.append("leads")
    LEADS_SINK = "leads.sinks.DatabaseSink"
DATABASES = {"default": database(os.environ["BENCH_DSN"])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
HUBQUEUE: dict[str, Any] = {"QUEUES": ("default", "leads", "mail", "webhooks")}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}
