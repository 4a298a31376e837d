"""The tests' project, and an application with every type of column."""

from config.settings.test import *  # noqa: F403 - settings are layered by star import
from config.settings.test import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.backups.data.everything.apps.EverythingConfig"]
