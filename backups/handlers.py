"""Every kind of job of this app, for the queue to find; and its duties."""

from backups.expire_handler import expire_archives
from backups.freshness import tell_stale
from backups.restore_handler import restore_rows
from backups.restoring.undo_handler import undo_restore
from backups.run_handler import run_backup
from backups.schedules.handler import schedules_of
from backups.sweep_handler import sweep_target, sweep_targets
from backups.verify_handler import verify_archive

__all__ = [
    "expire_archives",
    "restore_rows",
    "run_backup",
    "schedules_of",
    "sweep_target",
    "sweep_targets",
    "tell_stale",
    "undo_restore",
    "verify_archive",
]
