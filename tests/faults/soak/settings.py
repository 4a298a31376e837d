"""What workers, enqueuers and the soak itself run with."""

from tests.faults.settings import *  # noqa: F403 - settings are layered by star import
from tests.faults.settings import INSTALLED_APPS as COMMON

INSTALLED_APPS = [*COMMON, "tests.faults.soak.extra"]
