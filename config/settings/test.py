"""The test suite and the processes it starts."""

from config.settings.base import *  # noqa: F403 - settings are layered by star import
from config.settings.base import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "demo"]
SECRET_KEY = "only-for-tests"  # noqa: S105 - guards nothing but throw-away sessions
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
NOTIFICATIONS_FROM = "hubqueue <no-reply@jobs.example>"
