"""``manage.py backups run``: ask for a run, and watch it to its end."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from backups import officers
from backups.commands import place
from backups.commands.screen import Screen
from backups.commands.watch import because, note_workers, user, watch
from backups.models import BackupRun
from backups.running.make import WRITERS

VERB = "run"
HELP = "Make an archive of this installation, or of one tenant, at a target."


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--target", metavar="NAME", required=True, help="where it is kept")
    parser.add_argument("--tenant", help="one tenant's rows; default: the whole installation")
    parser.add_argument("--content", choices=sorted(WRITERS), default="rows", help="default: rows")
    parser.add_argument(
        "--incremental", action="store_true", help="what changed since the newest sound archive"
    )
    parser.add_argument("--reason", default="manage.py backups run", help="kept with the entry")
    parser.add_argument("--actor", help="who; default: the user of the operating system")
    parser.add_argument(
        "--no-wait", action="store_true", help="do not wait for its end; a worker makes it"
    )


def run(screen: Screen, options: dict[str, Any]) -> None:
    """Ends with an error unless the run succeeded. Interrupted, it leaves the run to the worker."""
    asked = officers.start(
        place.named(options["target"]),
        actor=options["actor"] or user(),
        reason=options["reason"],
        content=options["content"],
        tenant=options["tenant"],
        mode=BackupRun.Mode.INCREMENTAL if options["incremental"] else BackupRun.Mode.FULL,
    )
    note_workers(screen, "run")
    if not options["no_wait"]:
        watch(screen, asked)
    if asked.media_missing:
        screen.note(
            f"{asked.media_missing} files that rows name were not there to be taken: manage.py backups files"
            f" {asked.archive} --missing tells which."
        )
    screen.answer(_facts(asked), [f"{asked.get_state_display()}  {asked}{because(asked)}"])
    if asked.state not in {BackupRun.State.RUNNING, BackupRun.State.SUCCEEDED}:
        raise CommandError(f"The run is {asked.get_state_display()}{because(asked)}.")


def _facts(asked: BackupRun) -> dict[str, Any]:
    return {
        "id": str(asked.pk),
        "job": str(asked.job_id),
        "archive": asked.archive,
        "mode": asked.mode,
        "parent": asked.parent.archive if asked.parent else None,
        "state": asked.state,
        "code": asked.code,
        "rows": asked.rows,
        "media": asked.media,
        "media_missing": asked.media_missing,
        "bytes": asked.bytes,
        "findings": asked.findings,
    }
