"""What an attempt goes on from; where it cannot, its run is a full one from then on."""

from collections.abc import Sequence

from backups.archive.chain import open_chain
from backups.archive.manifest import Manifest
from backups.changes.since import can_continue
from backups.conf import conf
from backups.data.snapshot import Snapshot
from backups.errors import ArchiveError, ChainBroken
from backups.models import BackupRun
from backups.running.attempt import Attempt
from backups.scopes import name_of


def parents_at_target(attempt: Attempt, options: str) -> Sequence[Manifest]:
    """The manifests of what an incremental run goes on from, the full one first: all there, of equal options and key.

    Otherwise none, and the run is full. Raises ``TargetError``, ``LeaseLost``.
    """
    run = attempt.run
    if run.parent is None:
        return ()
    try:
        chain = open_chain(
            attempt.store, run.parent.archive, conf().keys, encrypted=attempt.key is not None
        )
    except ArchiveError as broken:
        promote(attempt, broken.code)
        return ()
    found = chain[-1].manifest
    if found.archive != run.parent_id:
        promote(attempt, ChainBroken.code)
    elif found.options != options or _key_of(found) != (attempt.key.id if attempt.key else None):
        promote(attempt, "backups.other_options")
    else:
        return [archive.manifest for archive in chain]
    return ()


def continued(attempt: Attempt, parents: Sequence[Manifest], taken: Snapshot) -> Sequence[Manifest]:
    """``parents``, when an archive of this snapshot may hold only what changed since; none: the run is full."""
    if not parents or can_continue(parents[-1], taken, attempt.run.tenant):
        return parents
    promote(attempt, "backups.other_history")
    return ()


def promote(attempt: Attempt, why: str) -> None:
    """Make the run a full one, on its row and for this attempt, before it writes anything. Raises ``LeaseLost``.

    What an earlier attempt wrote under the other name is left to the sweep.
    """
    run = attempt.run
    run.mode, run.parent, run.promoted = BackupRun.Mode.FULL, None, why
    run.archive = str(name_of(run.content, run.tenant, run.started_at, run.mode))
    with attempt.job.transaction():
        run.save(update_fields=["mode", "parent", "promoted", "archive"])


def _key_of(manifest: Manifest) -> str | None:
    return manifest.encryption.key_id if manifest.encryption else None
