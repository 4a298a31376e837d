"""What every environment shares. Each value that differs per installation is read from `env`."""

from pathlib import Path
from typing import Any

import django_stubs_ext
import environ

from config.database import database, direct_url
from config.policy import CONTENT_SECURITY_POLICY as CONTENT_SECURITY_POLICY

BASE_DIR = Path(__file__).resolve().parent.parent.parent

# Some of Django's generic classes (ModelAdmin, Field) take their parameters only after this.
django_stubs_ext.monkeypatch()

env = environ.Env()

DEBUG = False
ALLOWED_HOSTS: list[str] = []

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "hubqueue",
    "notifications",
    "accounts",
    "backups",
    "leads",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.languages.PageLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ],
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": database(
        env.str("DATABASE_URL", default="") or None,
        pooler=env.str("DATABASE_POOLER", default="") or None,
    ),
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

HUBQUEUE: dict[str, Any] = {
    "QUEUES": ("default", "leads", "backups", "mail", "webhooks"),
    "DIRECT_URL": direct_url(env.str("HUBQUEUE_DIRECT_URL", default="") or None),
}
HUBQUEUE_LOG_FORMAT = env.str("HUBQUEUE_LOG_FORMAT", default="") or None
HUBQUEUE_METRICS_TOKEN = env.str("HUBQUEUE_METRICS_TOKEN", default="")
HUBQUEUE_STORE_ERROR_MESSAGES = env.bool("HUBQUEUE_STORE_ERROR_MESSAGES", default=False)

# Links in mails. Never taken from a request: its Host header is whatever its sender likes.
NOTIFICATIONS_BASE_URL = env.str("BASE_URL", default="http://localhost:8000")
NOTIFICATIONS_MAIL_URL = env.str("MAIL_URL", default="")
NOTIFICATIONS_FROM = env.str("MAIL_FROM", default="")
NOTIFICATIONS_MAIL_TIMEOUT = env.float("MAIL_TIMEOUT", default=30.0)
NOTIFICATIONS_RESEND_UNCERTAIN = env.bool("MAIL_RESEND_UNCERTAIN", default=True)

LEADS_SINK = env.str("LEADS_SINK", default="leads.sinks.DatabaseSink")
LEADS_HTTP_URL = env.str("LEADS_HTTP_URL", default="")
LEADS_HTTP_TOKEN = env.str("LEADS_HTTP_TOKEN", default="")
LEADS_PARKED_NOTICE = env.int("LEADS_PARKED_NOTICE", default=3600)

WEBHOOKS_SOURCE = env.str("WEBHOOKS_SOURCE", default="urn:hubqueue")
WEBHOOKS_ALLOW_PRIVATE = env.bool("WEBHOOKS_ALLOW_PRIVATE", default=False)
WEBHOOKS_TIMEOUT = env.float("WEBHOOKS_TIMEOUT", default=5.0)
WEBHOOKS_DEADLINE = env.float("WEBHOOKS_DEADLINE", default=15.0)
WEBHOOKS_IN_FLIGHT = env.int("WEBHOOKS_IN_FLIGHT", default=2)

BACKUPS_VOLUME = env.str("BACKUPS_VOLUME", default="")
BACKUPS_PG_BIN = env.str("BACKUPS_PG_BIN", default="")
BACKUPS_TIMEOUT = env.float("BACKUPS_TIMEOUT", default=30.0)

AUTHENTICATION_BACKENDS = ["accounts.backend.WaitingBackend"]
# Whose word about who the client is counts; nobody else's header is read.
ACCOUNTS_TRUSTED_PROXIES = tuple(env.list("ACCOUNTS_TRUSTED_PROXIES", default=[]))

BACKUPS_KEYS = env.str("BACKUPS_KEYS", default="")

# Constraints in raw SQL are for the database to check; forms need not know them.
SILENCED_SYSTEM_CHECKS = ["models.W045"]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT: Path | None = BASE_DIR / "static"

LOGIN_URL = "accounts-login"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

DEFAULT_EXCEPTION_REPORTER_FILTER = "config.reports.ReportFilter"

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
}
