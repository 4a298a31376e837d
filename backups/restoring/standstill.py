"""While a tenant's rows are replaced, none of its jobs runs.

Its claims wait, not the workers: others go on. The pause stands until a restore of the tenant has come to its end; one
that was broken off when rows were gone already leaves it, and an officer's word ends it.
"""

from contextlib import suppress

from backups.errors import BackupError
from backups.models import BackupRestore
from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.models import Pause

ACTOR = "backups.restore"
OWN_KINDS = "backups."  # a schedule must go on when the tenant does
SCOPE = Pause.Scope.TENANT


class StillRunning(BackupError):
    """Jobs of the tenant have not stopped yet."""

    code = "backups.tenant_running"
    passing = True


def keep_paused(restore: BackupRestore) -> None:
    """Pause the tenant unless it is, in the caller's transaction."""
    tenant = restore.tenant or ""
    if Pause.objects.filter(scope=SCOPE, value=tenant).in_force().exists():
        return
    officers.pause(
        SCOPE, tenant, actor=ACTOR, reason=f"its rows are replaced, restore {restore.pk}"
    )
    BackupRestore.objects.filter(pk=restore.pk).update(paused=True)


def set_aside(restore: BackupRestore) -> bool:
    """Park what the tenant has unfinished, in the caller's transaction; answers whether all of it is at rest."""
    return officers.set_aside_tenant(restore.tenant or "", but=OWN_KINDS, actor=ACTOR)


def resume(restore: BackupRestore, *, why: str) -> None:
    """End the pause, in the caller's transaction, if a restore set it. What was parked stays so."""
    tenant = restore.tenant or ""
    if Pause.objects.filter(scope=SCOPE, value=tenant, paused_by=ACTOR).exists():
        with suppress(MoveRefused):
            officers.resume(SCOPE, tenant, actor=ACTOR, reason=why)
