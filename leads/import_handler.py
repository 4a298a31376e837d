"""The job that imports an uploaded file."""

from datetime import timedelta
from uuid import UUID

from django.db.models import F

from hubqueue.api import Done, JobContext, MoveRefused, Result, handler
from hubqueue.querysets import Now
from leads.errors import ImportRefused
from leads.importing.files import import_blocks
from leads.importing.load import Loaded
from leads.importing.pieces import blocks_of_run
from leads.models import ImportPiece, ImportProblem, ImportRun
from leads.signals import import_ended


@handler("leads.import_registrations", detached=True, queue="leads", timeout=timedelta(hours=2))
def import_registrations(job: JobContext, *, run_id: UUID) -> Result:
    """Import the file of a run, chunk by chunk; a later attempt goes on where the last commit was.

    The chunk, its report and the count of records read are one commit: no record is stored twice and
    none is reported twice.
    """
    run = ImportRun.objects.filter(pk=run_id).exclude(state__in=["done", "refused"]).first()
    if run is None:
        return Done()
    ImportRun.objects.filter(pk=run.pk).update(state=ImportRun.State.RUNNING)

    def keep(loaded: Loaded, count: int, position: int) -> None:
        job.checkpoint()
        job.hold()
        _keep(run, loaded, count, position)
        job.progress(min(1.0, position / max(1, run.size)))

    try:
        import_blocks(
            blocks_of_run(run),
            tenant=run.tenant_id,
            arm_leads=run.arm_leads,
            by=run.created_by,
            skip=run.records,
            after=keep,
        )
    except ImportRefused as refused:
        said = str(refused)
        return Done(record=lambda: _end(run, ImportRun.State.REFUSED, said))
    return Done(record=lambda: _end(run, ImportRun.State.DONE))


@import_registrations.on_abandon
def give_up(job: JobContext) -> None:
    """An import whose job is given up says so; what was committed stays in."""
    ImportRun.objects.filter(pk=job.claimed.payload["run_id"]).exclude(
        state__in=["done", "refused"]
    ).update(
        state=ImportRun.State.REFUSED,
        refusal="The import was given up before its end; what is counted here came in.",
        finished_at=Now(),
    )


@import_registrations.on_redrive
def take_up(job: JobContext) -> None:
    """An import that was given up goes on where it stood, as long as its file is kept."""
    run_id = job.claimed.payload["run_id"]
    found = ImportRun.objects.filter(pk=run_id)
    if found.filter(state=ImportRun.State.REFUSED).exists():
        if not ImportPiece.objects.filter(run=run_id).exists():
            raise MoveRefused("file_gone", "its file is gone: upload it again, under Imports.")
        found.update(state=ImportRun.State.RUNNING, refusal="", finished_at=None)


def _keep(run: ImportRun, loaded: Loaded, count: int, position: int) -> None:
    ImportProblem.objects.bulk_create(
        ImportProblem(run=run, line=each.line, code=each.code, reason=each.reason)
        for each in loaded.problems
    )
    ImportRun.objects.filter(pk=run.pk).update(
        records=F("records") + count,
        imported=F("imported") + loaded.imported,
        duplicates=F("duplicates") + loaded.duplicates,
        bad=F("bad") + loaded.bad,
        bytes_read=position,
    )


def _end(run: ImportRun, state: ImportRun.State, refusal: str = "") -> None:
    ImportRun.objects.filter(pk=run.pk).update(
        state=state, refusal=refusal[:300], finished_at=Now()
    )
    ImportPiece.objects.filter(run=run).delete()
    run.refresh_from_db()
    import_ended.send_robust(
        sender=None, imported=run.imported, duplicates=run.duplicates, bad=run.bad
    )
