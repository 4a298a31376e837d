"""What one attempt of a run works with."""

from dataclasses import dataclass
from datetime import datetime

from backups.archive.manifest import About, Manifest, Parent, Period, Product, Snapshot
from backups.archive.names import Mode
from backups.archive.owner import note_owner
from backups.archive.write import ArchiveWriter
from backups.data.snapshot import Snapshot as Taken
from backups.installation import own_name
from backups.keys import MasterKey
from backups.models import BackupRun
from backups.running.pace import Pace
from backups.scopes import scope_of
from backups.targets.store import Store
from hubqueue import __version__
from hubqueue.api import JobContext

PRODUCT = Product(name="hubqueue", version=__version__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt; ``store`` is fenced, ``key`` None = the archive is not encrypted."""

    job: JobContext
    run: BackupRun
    store: Store
    key: MasterKey | None
    pace: Pace

    def writer(
        self,
        *,
        at: datetime,
        transactions: str,
        schema: dict[str, list[str]],
        lineage: str = "",
        parent: Manifest | None = None,
        options: str = "",
    ) -> ArchiveWriter:
        """A writer into the directory of the run, the same in every attempt; the row has the snapshot from now on.

        ``parent`` is what the archive goes on from, of equal ``options``: an incremental run has one.
        Raises ``ArchiveExists``, ``TargetError``, ``LeaseLost``.
        """
        about = About(
            archive=self.run.pk,
            product=PRODUCT,
            schema=schema,
            scope=scope_of(self.run.content, self.run.tenant),
            mode=Mode(self.run.mode),
            started=self.run.started_at,
            snapshot=Snapshot(at=at, transactions=transactions, lineage=lineage),
            period=Period(since=parent.snapshot.at if parent else None, until=at),
            parent=Parent(archive=parent.archive, name=str(parent.name)) if parent else None,
            options=options,
        )
        with self.job.transaction():
            BackupRun.objects.filter(pk=self.run.pk).update(
                snapshot_at=at, transactions=transactions
            )
        note_owner(self.store, str(about.name), own_name())
        return ArchiveWriter(self.store, about, self.key)

    def writer_of(
        self, taken: Taken, parent: Manifest | None = None, options: str = ""
    ) -> ArchiveWriter:
        """The same for a snapshot of rows."""
        return self.writer(
            at=taken.taken_at,
            transactions=taken.transactions,
            schema=taken.migrations,
            lineage=taken.lineage,
            parent=parent,
            options=options,
        )
