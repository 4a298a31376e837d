"""Archives that are whole as far as the rows know: what may be verified, restored, continued and counted."""

from uuid import UUID

from django.db import connections, router
from django.db.models import QuerySet

from backups.models import BackupRestore, BackupRun, BackupTarget

HOLD_SQL = "SELECT 1 FROM backups_backuptarget WHERE id = %s FOR KEY SHARE"


def whole_archives() -> QuerySet[BackupRun]:
    """Runs that worked and whose archives have not begun to be deleted. Whether they are sound is not asked."""
    return BackupRun.objects.filter(
        state=BackupRun.State.SUCCEEDED, expiring_at__isnull=True
    ).exclude(archive="")


def newest_sound(target_id: UUID, *, content: str, tenant: str | None) -> BackupRun | None:
    """The newest archive of this at the target that was found sound, as was all that it goes on from.

    For whoever builds on it, after ``hold_archives``.
    """
    sound = whole_archives().filter(
        target=target_id, content=content, tenant=tenant, verified_at__isnull=False, findings=[]
    )
    newest_first = sound.order_by("-started_at", "-pk").values_list("pk", "parent_id")
    parents: dict[UUID, UUID | None] = dict(newest_first)
    for each in parents:
        if _leads_to_a_full_one(each, parents):
            return BackupRun.objects.get(pk=each)
    return None


def _leads_to_a_full_one(first: UUID, parents: dict[UUID, UUID | None]) -> bool:
    seen: set[UUID] = set()
    here: UUID | None = first
    while here is not None:
        if here in seen or here not in parents:
            return False
        seen.add(here)
        here = parents[here]
    return True


def hold_archives(target_id: UUID) -> None:
    """Until the open transaction ends no archive of the target begins to be deleted.

    Whoever builds on an archive asks for it after this, in the transaction of the row that names it; others may do so
    at once. The foreign key alone holds nothing before the commit: it is deferred.
    """
    with connections[router.db_for_write(BackupRun)].cursor() as cursor:
        cursor.execute(HOLD_SQL, [target_id])


def begin_deleting(target_id: UUID) -> None:
    """Wait for all that hold the target's archives, and keep others from it until the open transaction ends."""
    BackupTarget.objects.select_for_update().get(pk=target_id)


def held_by_restores(target_id: UUID) -> set[UUID]:
    """The runs of the target whose archives a running restore reads, or has made of what it replaces."""
    running = BackupRestore.objects.filter(run__target=target_id, state=BackupRestore.State.RUNNING)
    copies = running.filter(safety__isnull=False).values_list("safety_id", flat=True)
    return {*running.values_list("run_id", flat=True), *copies}
