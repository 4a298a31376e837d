"""What one attempt of a restore works with: its batches count only while it holds its job."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.archive.read import Archive
from backups.data.tables import Table
from backups.data.text_form import SETTINGS
from backups.data.unlimited import unlimit
from backups.models import BackupRestore
from backups.restoring.standstill import keep_paused
from backups.restoring.steps import Step
from hubqueue.api import JobContext


@dataclass(frozen=True, slots=True)
class Work:
    """One attempt. ``chosen`` are all tables that are declared, ``steps`` those of the archive in order.

    ``chain`` is the archive and all that it goes on from, the full one first: one of a tenant is always alone.
    """

    job: JobContext
    restore: BackupRestore
    chain: tuple[Archive, ...]
    chosen: tuple[Table, ...]
    steps: tuple[Step, ...]

    @property
    def archive(self) -> Archive:
        return self.chain[-1]

    @property
    def tenant(self) -> str:
        assert self.restore.tenant is not None  # a constraint: what writes has one
        return self.restore.tenant

    @property
    def connection(self) -> BaseDatabaseWrapper:
        return connections[self.job.using]

    @contextmanager
    def batch(self) -> Iterator[None]:
        """A transaction for rows and the progress that they are. Raises ``StopRequested`` before, ``LeaseLost``."""
        self.job.checkpoint()
        with self.job.transaction():
            if self.restore.mode == BackupRestore.Mode.REPLACE:
                keep_paused(self.restore)
            self.settle()
            unlimit(self.connection)
            yield

    def settle(self) -> None:
        """Read and write texts as archives have them, until the open transaction ends."""
        with self.connection.cursor() as cursor:
            cursor.execute("; ".join(SETTINGS))  # at once: every batch pays for it

    def moved(self, **values: Any) -> None:
        """Write how far it is, in the open transaction of the rows that it tells of."""
        share = self._share(values)
        self.job.progress(share)
        write(self.restore, share=share, **values)

    def _share(self, values: dict[str, Any]) -> float:
        total = max(1, sum(self.archive.manifest.counts.values()))
        return min(1.0, float(values.get("rows", self.restore.rows)) / total)


def write(restore: BackupRestore, **values: Any) -> None:
    """Change the row of a restore, and what this attempt knows of it. An attempt that fails forgets what it knows."""
    BackupRestore.objects.filter(pk=restore.pk).update(**values)
    for name, value in values.items():
        setattr(restore, name, value)
