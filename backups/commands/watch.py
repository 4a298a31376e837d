"""Following what a worker does, from a terminal."""

import getpass
import os
from time import sleep

from backups.commands.screen import Screen
from backups.models import BackupRestore, BackupRun
from hubqueue.models import Worker

LOOK = 0.5  # seconds between two looks
QUEUE = "backups"
RUNNING = "RUNNING"


def user() -> str:
    """Who is at the terminal, for the log of operations."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid {os.getuid()}"


def note_workers(screen: Screen, what: str) -> None:
    """Say so when nobody is there to do it."""
    if not any(QUEUE in worker.queues for worker in Worker.objects.alive()):
        screen.note(
            f"No living worker serves the queue {QUEUE}: the {what} waits until one does"
            f" (manage.py runworker --queues {QUEUE})."
        )


def watch(screen: Screen, asked: BackupRun | BackupRestore) -> None:
    """Return when it has ended. Interrupted, it is left to the worker."""
    while asked.state == RUNNING:
        sleep(LOOK)
        asked.refresh_from_db()
        screen.progress(f"{asked}: {asked.share:4.0%}{because(asked)}", done=asked.state != RUNNING)


def because(asked: BackupRun | BackupRestore) -> str:
    """The code that it met, in brackets."""
    return f" ({asked.code})" if asked.code else ""
