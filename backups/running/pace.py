"""How far a run is, for its row and its job."""

from time import monotonic

from backups.models import BackupRun
from hubqueue.api import JobContext

EVERY = 2.0  # seconds between two writes of the share


class Pace:
    """Writes the share at most every two seconds, and only while the attempt holds its job."""

    def __init__(self, job: JobContext, run: BackupRun) -> None:
        self._job, self._run = job, run
        self._next = 0.0

    def at(self, share: float) -> None:
        """``share`` is from 0 to 1. Raises ``LeaseLost``."""
        share = min(1.0, max(0.0, share))
        self._job.progress(share)
        if monotonic() < self._next:
            return
        self._next = monotonic() + EVERY
        with self._job.transaction():
            BackupRun.objects.filter(pk=self._run.pk).update(share=share)
