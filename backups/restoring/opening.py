"""The archive of a restore, open, when it is one that can be restored here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connections

from backups.archive.chain import open_chain
from backups.archive.manifest import Manifest
from backups.archive.schema import known
from backups.conf import conf
from backups.data.spec import discover
from backups.data.tables import tables
from backups.errors import RestoreRefused, SchemaAhead
from backups.models import BackupRestore, BackupTarget
from backups.restore.precheck import refuse_unmigrated
from backups.restoring.steps import steps
from backups.restoring.work import Work
from backups.running.fenced import Fenced
from backups.scopes import scope_of
from backups.targets.opening import open_store
from hubqueue.api import JobContext


@contextmanager
def opened(job: JobContext, restore: BackupRestore) -> Iterator[Work]:
    """The work of one attempt, while the target is open.

    Raises ``ArchiveError`` (format, key, schema ahead, chain), ``RestoreRefused``, ``NotMigrated``, ``TargetError``.
    """
    run = restore.run
    encrypted = run.target.encryption == BackupTarget.Encryption.CLIENT
    chosen = tuple(tables(discover()))
    with open_store(run.target) as target:
        chain = open_chain(
            Fenced(target, job), run.archive, conf().keys, schema=known(), encrypted=encrypted
        )
        counts = chain[-1].manifest.counts  # all of a chain hold the same models
        _refuse_other([each.manifest for each in chain], restore)
        if unknown := sorted(counts.keys() - {table.label for table in chosen}):
            raise SchemaAhead(
                f"The archive holds rows of {unknown[0]}, which is not installed here."
            )
        refuse_unmigrated(connections[job.using])
        yield Work(job, restore, tuple(chain), chosen, steps(chosen, counts.keys()))


def _refuse_other(chain: Sequence[Manifest], restore: BackupRestore) -> None:
    run, manifest = restore.run, chain[-1]
    if manifest.archive != run.pk or manifest.scope != scope_of(run.content, run.tenant):
        raise RestoreRefused(f"The archive {run.archive} is not the one that this run made.")
    if len(chain) > 1 and restore.tenant is not None:
        raise RestoreRefused(
            f"The archive {run.archive} is incremental, which one of a tenant never is."
        )
