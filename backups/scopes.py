"""What an archive's scope is called in its name and its manifest."""

from datetime import datetime
from hashlib import sha256

from backups.archive.names import SCOPE, ArchiveName, Mode
from backups.models import Content

WHOLE = "all"
LONGEST = 90  # of 100, that "tenant-" has room


def scope_of(content: str, tenant: str | None) -> str:
    """``all``, ``system``, ``tenant-<its name>``, or ``tenant.<digest>`` for a name that no directory may have."""
    if content == Content.SYSTEM:
        return Content.SYSTEM.value
    if tenant is None:
        return WHOLE
    if SCOPE.fullmatch(tenant) and len(tenant) <= LONGEST:
        return f"tenant-{tenant}"
    return f"tenant.{sha256(tenant.encode()).hexdigest()[:32]}"


def name_of(content: str, tenant: str | None, started: datetime, mode: str) -> ArchiveName:
    """The name of the archive of a run that asks for this."""
    return ArchiveName(scope_of(content, tenant), started, Mode(mode))
