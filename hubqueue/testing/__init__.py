"""The test kit: run due jobs inside a test, look at what was enqueued, move the clock, steal a lease.

Everything here goes through the real lifecycle on the test's own connection, so it works in ``TestCase``,
``TransactionTestCase`` and with pytest-django's ``db`` fixtures. See docs/testing.md.
"""

from hubqueue.testing.clock import clock_environment, move_clock
from hubqueue.testing.look import assert_enqueued, assert_not_enqueued, enqueued
from hubqueue.testing.perform import perform
from hubqueue.testing.run_due import Report, Run, run_due_jobs
from hubqueue.testing.steal import steal_lease

__all__ = [
    "Report",
    "Run",
    "assert_enqueued",
    "assert_not_enqueued",
    "clock_environment",
    "enqueued",
    "move_clock",
    "perform",
    "run_due_jobs",
    "steal_lease",
]
