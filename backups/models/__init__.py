"""What the backups app keeps in the database."""

from backups.models.content import Content
from backups.models.restores import BackupRestore, NewKey, RestoreKey
from backups.models.runs import BackupRun
from backups.models.schedules import BackupSchedule, Notify
from backups.models.targets import BackupTarget
from backups.models.tombstones import Tombstone

__all__ = [
    "BackupRestore",
    "BackupRun",
    "BackupSchedule",
    "BackupTarget",
    "Content",
    "NewKey",
    "Notify",
    "RestoreKey",
    "Tombstone",
]
