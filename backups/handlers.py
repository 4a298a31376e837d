"""Every kind of job of this app, for the queue to find."""

from backups.run_handler import run_backup

__all__ = ["run_backup"]
