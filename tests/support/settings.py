"""What the worker processes of tests run with: the queue, the proof handlers, and rules from the test.

``HUBQUEUE_TEST_SECONDS`` is a JSON object of durations, such as ``{"LEASE": 3, "RENEW_EVERY": 1}``;
``HUBQUEUE_TEST_DATABASE`` is one of what the database's entry says beside its address.
"""

import json
import os
from datetime import timedelta

from config.settings.test import *  # noqa: F403 - settings are layered by star import
from config.settings.test import DATABASES, HUBQUEUE

# Their accounts are Django's alone: the application accounts is not among these.
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "hubqueue",
    "tests.support.proof",
    "tests.support.afloat",
]
ROOT_URLCONF = "hubqueue.urls"  # the project's own needs the admin
HUBQUEUE = HUBQUEUE | {
    name: timedelta(seconds=seconds)
    for name, seconds in json.loads(os.environ.get("HUBQUEUE_TEST_SECONDS", "{}")).items()
}

given = json.loads(os.environ.get("HUBQUEUE_TEST_DATABASE", "{}"))
DATABASES["default"].setdefault("OPTIONS", {}).update(given.pop("OPTIONS", {}))
DATABASES["default"] |= given
