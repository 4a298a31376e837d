"""What workers and enqueuers run with under faults: the proof settings, and the application that is the load.

``FAULTS_CLOCK_OFF`` sets the clock of the process wrong by so many seconds; what measures lengths of time goes on.
"""

import os
from datetime import UTC, datetime, timedelta

from tests.support.settings import *  # noqa: F403 - settings are layered by star import
from tests.support.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.burden"]
for _bound in DATABASES.values():
    # An enqueuer whose peer vanished without a word finds out.
    _bound["OPTIONS"] = {"connect_timeout": 5, "tcp_user_timeout": 10_000} | _bound["OPTIONS"]
if _off := float(os.environ.get("FAULTS_CLOCK_OFF", "0")):
    import time_machine

    time_machine.travel(datetime.now(UTC) + timedelta(seconds=_off), tick=True).start()
