"""What an attempt goes on from; where it cannot, its run is a full one from then on."""

from backups.archive.chain import open_chain
from backups.archive.manifest import Manifest
from backups.changes.since import can_continue
from backups.conf import conf
from backups.data.snapshot import Snapshot
from backups.errors import ArchiveError, ChainBroken
from backups.models import BackupRun
from backups.running.attempt import Attempt
from backups.scopes import name_of


def parent_at_target(attempt: Attempt, options: str) -> Manifest | None:
    """The manifest of the parent of an incremental run, whose whole chain is at the target, of equal options and key.

    Otherwise ``None``, and the run is full. Raises ``TargetError``, ``LeaseLost``.
    """
    run = attempt.run
    if run.parent is None:
        return None
    try:
        chain = open_chain(
            attempt.store, run.parent.archive, conf().keys, encrypted=attempt.key is not None
        )
        found = chain[-1].manifest
    except ArchiveError as broken:
        promote(attempt, broken.code)
        return None
    if found.archive != run.parent_id:
        promote(attempt, ChainBroken.code)
    elif found.options != options or _key_of(found) != (attempt.key.id if attempt.key else None):
        promote(attempt, "backups.other_options")
    else:
        return found
    return None


def continued(attempt: Attempt, parent: Manifest | None, taken: Snapshot) -> Manifest | None:
    """``parent``, when an archive of this snapshot may hold only what changed since; ``None``: the run is full."""
    if parent is None or can_continue(parent, taken, attempt.run.tenant):
        return parent
    promote(attempt, "backups.other_history")
    return None


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
