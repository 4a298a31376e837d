"""Importing registrations, from a command or a page."""

from typing import BinaryIO

from django.db import transaction
from django.db.models import F

from leads.conf import conf
from leads.errors import ImportRefused
from leads.import_handler import import_registrations as import_job
from leads.importing import pieces
from leads.importing.files import Preview, blocks_of, import_blocks, preview
from leads.importing.load import Loaded
from leads.models import ImportRun


def import_registrations(
    file: BinaryIO, *, tenant: str | None = None, arm_leads: bool = True, by: str = ""
) -> Loaded:
    """Import a file here and now, chunk by chunk, each its own commit.

    ``arm_leads=False`` is the declared exemption: the registrations come in and no lead is generated on
    their account. Raises ``ImportRefused`` when the file cannot be read at all.
    """
    blocks = blocks_of(file, limit=conf().leads_import_size_limit)
    return import_blocks(blocks, tenant=tenant, arm_leads=arm_leads, by=by)


@transaction.atomic
def upload(file: BinaryIO, name: str, *, tenant: str | None, arm_leads: bool, by: str) -> ImportRun:
    """Keep a file for a look at it. Raises ``ImportRefused`` for one that is too big or has no header."""
    run = ImportRun.objects.create(
        file_name=_safe_name(name),
        size=0,
        tenant_id=tenant,
        arm_leads=arm_leads,
        created_by=by[:150],
    )
    run.size = pieces.keep(run, blocks_of(file, limit=conf().leads_import_size_limit))
    run.save(update_fields=["size"])
    preview_run(run)
    return run


def preview_run(run: ImportRun) -> Preview:
    """The first rows of an uploaded file. Raises ``ImportRefused``."""
    return preview(pieces.blocks_of_run(run))


@transaction.atomic
def start(run: ImportRun) -> bool:
    """Enqueue the import of an uploaded file; False when it was started before."""
    started = ImportRun.objects.filter(pk=run.pk, state=ImportRun.State.UPLOADED).update(
        state=ImportRun.State.RUNNING, records=F("records")
    )
    if started:
        import_job.using(dedupe_key=f"import:{run.pk}").enqueue(run_id=run.pk)
    return bool(started)


@transaction.atomic
def discard(run: ImportRun) -> None:
    """Drop an uploaded file that was not started. Raises ``ImportRefused`` for one that was."""
    deleted, _ = ImportRun.objects.filter(pk=run.pk, state=ImportRun.State.UPLOADED).delete()
    if not deleted:
        raise ImportRefused("The import was started already; its report stays.")


def _safe_name(name: str) -> str:
    printable = "".join(character for character in name if character.isprintable())
    return printable[-200:] or "file"
