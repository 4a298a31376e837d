"""``manage.py backups run``: ask for a run, and watch it to its end."""

import getpass
import os
from argparse import ArgumentParser
from time import sleep
from typing import Any

from django.core.management.base import CommandError

from backups import officers
from backups.commands import place
from backups.commands.screen import Screen
from backups.models import BackupRun
from backups.running.make import WRITERS
from hubqueue.models import Worker

VERB = "run"
HELP = "Make an archive of this installation, or of one tenant, at a target."
LOOK = 0.5  # seconds between two looks at the run
QUEUE = "backups"


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
        actor=options["actor"] or _user(),
        reason=options["reason"],
        content=options["content"],
        tenant=options["tenant"],
        mode=BackupRun.Mode.INCREMENTAL if options["incremental"] else BackupRun.Mode.FULL,
    )
    if not any(QUEUE in worker.queues for worker in Worker.objects.alive()):
        screen.note(
            f"No living worker serves the queue {QUEUE}: the run waits until one does"
            f" (manage.py runworker --queues {QUEUE})."
        )
    if not options["no_wait"]:
        _watch(screen, asked)
    if asked.media_missing:
        screen.note(
            f"{asked.media_missing} files that rows name were not there to be taken: manage.py backups files"
            f" {asked.archive} --missing tells which."
        )
    screen.answer(_facts(asked), [f"{asked.get_state_display()}  {asked}{_because(asked)}"])
    if asked.state not in {BackupRun.State.RUNNING, BackupRun.State.SUCCEEDED}:
        raise CommandError(f"The run is {asked.get_state_display()}{_because(asked)}.")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid {os.getuid()}"


def _watch(screen: Screen, asked: BackupRun) -> None:
    while asked.state == BackupRun.State.RUNNING:
        sleep(LOOK)
        asked.refresh_from_db()
        ended = asked.state != BackupRun.State.RUNNING
        screen.progress(f"{asked}: {asked.share:4.0%}{_because(asked)}", done=ended)


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


def _because(asked: BackupRun) -> str:
    return f" ({asked.code})" if asked.code else ""
