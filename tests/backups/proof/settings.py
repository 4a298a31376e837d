"""The tests' project, an application with every type of column, and files in a directory of the installation's own."""

import os

from config.settings.test import *  # noqa: F403 - settings are layered by star import
from config.settings.test import INSTALLED_APPS

INSTALLED_APPS = [
    *INSTALLED_APPS,
    "django.contrib.postgres",
    "tests.backups.data.everything.apps.EverythingConfig",
]
MEDIA_ROOT = os.environ["PROOF_MEDIA"]
