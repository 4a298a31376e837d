"""For a worker that soon hears of what is asked of its jobs."""

from datetime import timedelta

from config.settings.test import *  # noqa: F403 - settings are layered by star import
from config.settings.test import HUBQUEUE

HUBQUEUE = {**HUBQUEUE, "RENEW_EVERY": timedelta(seconds=1)}
