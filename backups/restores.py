"""What is asked of restores. Each verb takes who and why, and leaves a log entry."""

from django.db import router, transaction

from backups import operations
from backups.data.spec import discover
from backups.data.tables import tables
from backups.errors import (
    ArchiveMissing,
    RestoreBusy,
    RestoreEnded,
    RestoreRefused,
)
from backups.models import BackupRestore, BackupRun, Content
from backups.restore_handler import restore_rows
from backups.restoring import closing
from backups.restoring.new_tenant import refuse_used
from backups.whole import hold_archives, whole_archives

Mode = BackupRestore.Mode
LONGEST = 64  # of a tenant's name that jobs carry


def request_restore(
    run: BackupRun, *, mode: str, if_there: str = "", tenant: str = "", asked_by: str = ""
) -> BackupRestore:
    """Start a restore of the archive of ``run``, in the caller's transaction. No plan deletes the archive meanwhile.

    INSPECT looks at any archive of rows; MERGE and REPLACE write the rows of the tenant whose archive it is, NEW_TENANT
    writes them under new keys as those of ``tenant``, a name that no row has. Raises
    ``ArchiveMissing``, ``RestoreRefused``, and ``RestoreBusy`` when another restore writes the tenant's rows.
    """
    with transaction.atomic(using=router.db_for_write(BackupRestore)):
        hold_archives(run.target_id)
        whole = whole_archives().filter(pk=run.pk).first()
        if whole is None:
            raise ArchiveMissing("This run has no archive that could be restored.")
        _refuse(whole, mode, if_there)
        _refuse_name(whole, mode, tenant)
        wanted = BackupRestore(
            run=whole,
            mode=mode,
            if_there=if_there,
            tenant=tenant or whole.tenant,
            asked_by=asked_by[:150],
        )
        # The index decides: it waits for a request that is being committed.
        BackupRestore.objects.bulk_create([wanted], ignore_conflicts=True)
        made = BackupRestore.objects.filter(pk=wanted.pk).first()
        if made is None:
            raise RestoreBusy(
                f"Another restore writes the rows of {wanted.tenant}: wait until it has ended, or cancel it."
            )
        job = restore_rows.using(dedupe_key=str(made.pk)).enqueue(restore_id=made.pk)
        made.job_id = job.id
        made.save(update_fields=["job_id"])
        return made


@transaction.atomic
def start(
    run: BackupRun, *, mode: str, actor: str, reason: str, if_there: str = "", tenant: str = ""
) -> BackupRestore:
    """An officer's request. Raises as ``request_restore`` does."""
    restore = request_restore(run, mode=mode, if_there=if_there, tenant=tenant, asked_by=actor)
    _log(mode, restore, actor, reason)
    return restore


@transaction.atomic
def cancel(restore: BackupRestore, *, actor: str, reason: str) -> None:
    """Stop a restore: at once when it waits, after the batch at hand when it writes. Raises ``RestoreEnded``.

    What was written stays: a REPLACE that was stopped after its clear began has left part of the rows, and the tenant
    paused. Restore again, from the same archive or from the copy that it made. What NEW_TENANT wrote goes again.
    """
    found = BackupRestore.objects.filter(pk=restore.pk, state=BackupRestore.State.RUNNING).first()
    if found is None:
        raise RestoreEnded("The restore has ended already; there is nothing to cancel.")
    if not operations.stop_job(found.job_id, actor=actor, reason=reason):
        closing.cancel(found.pk)
    _log("stop_restore", found, actor, reason)


def _refuse(run: BackupRun, mode: str, if_there: str) -> None:
    if mode not in Mode.values:
        raise RestoreRefused(f"expected a mode of {', '.join(Mode.values)}, got {mode!r}")
    if run.content != Content.ROWS:
        raise RestoreRefused(
            "A dump of the whole database comes back by manage.py backups restore --system."
        )
    if mode != Mode.INSPECT and not run.tenant:
        raise RestoreRefused(
            "This is an archive of the whole installation; it comes back into an empty database, by"
            " manage.py backups restore."
        )
    if mode != Mode.INSPECT and len(run.tenant or "") > LONGEST:
        raise RestoreRefused(
            f"No job belongs to a tenant with a name of more than {LONGEST} letters."
        )
    known = BackupRestore.IfThere.values if mode == Mode.MERGE else [""]
    if if_there not in known:
        raise RestoreRefused(
            f"expected for {mode} what becomes of rows that are there ({', '.join(known) or 'nothing'}),"
            f" got {if_there!r}"
        )


def _refuse_name(run: BackupRun, mode: str, tenant: str) -> None:
    if mode != Mode.NEW_TENANT:
        if tenant:
            raise RestoreRefused(f"expected no other tenant for {mode}, got {tenant!r}")
        return
    if tenant in {"", run.tenant} or tenant != tenant.strip() or not tenant.isprintable():
        raise RestoreRefused(
            f"Expected the name of a tenant that is not there yet, got {tenant!r}."
        )
    if len(tenant) > LONGEST:
        raise RestoreRefused(
            f"expected a tenant's name of up to {LONGEST} letters, got {len(tenant)}"
        )
    if _is_going(tenant):
        raise RestoreBusy(
            f"Rows of {tenant}, of a restore that was broken off, are still being taken away:"
            " wait, or take another name."
        )
    refuse_used(router.db_for_write(BackupRestore), tables(discover()), tenant)


def _is_going(tenant: str) -> bool:
    broken_off = BackupRestore.objects.filter(mode=Mode.NEW_TENANT, tenant=tenant, cleared=False)
    ended = broken_off.filter(state__in=[BackupRestore.State.FAILED, BackupRestore.State.CANCELLED])
    return ended.exclude(phase__in=closing.UNTOUCHED).exists()


def _log(verb: str, restore: BackupRestore, actor: str, reason: str) -> None:
    about = f"backup restore {restore}"
    operations.log(verb, about, restore.job_id, actor=actor, reason=reason)
