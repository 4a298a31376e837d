"""The settings of the scheduler processes that these tests start: the queue, and one small application."""

import os
from datetime import timedelta

from config.settings.test import *  # noqa: F403 - settings are layered by star import
from config.settings.test import HUBQUEUE as GIVEN

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "hubqueue",
    "tests.scheduler.clockwork",
]
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "tests.scheduler.clockwork"
HUBQUEUE = {
    **GIVEN,
    "TICK": timedelta(seconds=float(os.environ.get("SCHEDULER_TICK", "1"))),
    "STATEMENT_DEADLINE": timedelta(seconds=float(os.environ.get("SCHEDULER_DEADLINE", "5"))),
}
