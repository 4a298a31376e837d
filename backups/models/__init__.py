"""What the backups app keeps in the database."""

from backups.models.targets import BackupTarget

__all__ = ["BackupTarget"]
