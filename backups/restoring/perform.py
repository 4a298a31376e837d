"""A restore from phase to phase. Every phase goes on where another attempt was."""

from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import Any

from backups.errors import BackupError
from backups.models import BackupRestore
from backups.restoring import closing, standstill
from backups.restoring.clear import begin, clear
from backups.restoring.files import look_at_files, write_files
from backups.restoring.fitting import refuse_misfit
from backups.restoring.load import load, set_numbers, set_references
from backups.restoring.new_keys import give_keys
from backups.restoring.new_tenant import refuse_clash, refuse_unmappable, refuse_used
from backups.restoring.opening import opened
from backups.restoring.safety import make_copy
from backups.restoring.work import Work, write
from hubqueue.api import Done, JobContext

Mode, Phase = BackupRestore.Mode, BackupRestore.Phase
AFTER_FILES = {Mode.REPLACE: Phase.COPY, Mode.MERGE: Phase.LOAD, Mode.NEW_TENANT: Phase.KEYS}


def perform(job: JobContext, restore: BackupRestore) -> Done:
    """Do what is left of a restore. Raises ``BackupError``, ``StopRequested``, ``LeaseLost``.

    A passing error of the phases before the clear says that something has to end first: nothing is wrong.
    """
    if restore.mode == Mode.INSPECT:
        report = _inspected(job, restore)
        return _done(job, restore, report=report)
    if restore.phase == Phase.CHECK:
        _check(job, restore)
    if restore.phase == Phase.FILES:
        _give(job, restore)
    if restore.phase == Phase.KEYS:
        _give_keys(job, restore)
    if restore.phase == Phase.COPY:
        make_copy(job, restore)
        with job.transaction():
            write(restore, phase=Phase.PARK)
    if restore.phase == Phase.PARK:
        _stand_still(job, restore)
    with opened(job, restore) as work:
        if restore.phase == Phase.PARK:
            refuse_misfit(work)  # once more: the copy may have taken hours
            with work.batch():
                begin(work)
                write(restore, phase=Phase.CLEAR)
        if restore.phase == Phase.CLEAR:
            clear(work)
        _fill(work)
    return _done(job, restore)


def _check(job: JobContext, restore: BackupRestore) -> None:
    with opened(job, restore) as work:
        if restore.mode == Mode.NEW_TENANT:
            refuse_used(job.using, work.chosen, work.tenant)
            refuse_unmappable(work)
        refuse_misfit(work)
        look_at_files(work)
    with job.transaction():
        write(restore, phase=Phase.FILES)


def _give(job: JobContext, restore: BackupRestore) -> None:
    with opened(job, restore) as work:
        write_files(work)
    with job.transaction():
        write(restore, phase=AFTER_FILES[Mode(restore.mode)], line=0)


def _give_keys(job: JobContext, restore: BackupRestore) -> None:
    """No row of an application's is written before it is known that all fit."""
    with opened(job, restore) as work:
        give_keys(work)
        refuse_clash(work)
        with work.batch():
            # Once more: from here on what has this name is the restore's, and goes when it is broken off.
            refuse_used(job.using, work.chosen, work.tenant)
            write(restore, phase=Phase.LOAD, label="", line=0)


def _stand_still(job: JobContext, restore: BackupRestore) -> None:
    job.checkpoint()
    with job.transaction():
        standstill.keep_paused(restore)
        at_rest = standstill.set_aside(restore)
    if not at_rest:
        raise standstill.StillRunning(f"Jobs of {restore.tenant} have not stopped yet.")


def _fill(work: Work) -> None:
    if work.restore.phase == Phase.LOAD:
        load(work)
        with work.batch():
            write(work.restore, phase=Phase.LINK, label="", line=0)
    set_references(work)
    set_numbers(work)


def _inspected(job: JobContext, restore: BackupRestore) -> dict[str, Any]:
    """What the archive holds, and why its rows would not fit; nothing is written. Passing errors are raised.

    Of a chain, a row counts in each archive that holds it.
    """
    found: dict[str, Any] = {"refused": "", "code": "", "rows": {}, "after": []}
    try:
        with opened(job, restore) as work:
            rows = sum((Counter(each.manifest.counts) for each in work.chain), Counter[str]())
            found["rows"] = {label: rows[label] for label in work.archive.manifest.counts}
            found["after"] = [each.name for each in work.chain[:-1]]
            refuse_misfit(work)
            found["files"] = asdict(look_at_files(work))
    except BackupError as met:
        if met.passing:
            raise
        found |= {"refused": str(met), "code": met.code}
    return found


def _done(job: JobContext, restore: BackupRestore, **values: Any) -> Done:
    record = partial(closing.succeed, restore.pk, using=job.using, **values)
    return Done(record=record)
