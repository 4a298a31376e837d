"""What workers and enqueuers run with under faults: the proof settings, and the application that is the load."""

from tests.support.settings import *  # noqa: F403 - settings are layered by star import
from tests.support.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.burden"]
for _bound in DATABASES.values():
    # An enqueuer whose peer vanished without a word finds out.
    _bound["OPTIONS"] = {"connect_timeout": 5, "tcp_user_timeout": 10_000} | _bound["OPTIONS"]
