"""What the rule has to know of an archive."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

PINNED_FOR = timedelta(days=30)


class State(Enum):
    """How an archive stands at its target. COMPLETE: its ``checksums.txt`` is there. FOREIGN: none of ours."""

    COMPLETE = "complete"
    RUNNING = "running"
    UNFINISHED = "unfinished"
    FAILED = "failed"
    FOREIGN = "foreign"


class Trigger(Enum):
    """What made the run start."""

    SCHEDULE = "schedule"
    MANUAL = "manual"
    PRE_RESTORE = "pre_restore"
    API = "api"


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive. ``start``: when its run started. ``parent``: the id of the archive that an incremental continues.

    Instants carry a time zone, any; one without raises ``ValueError``.
    """

    id: str
    scope: str
    target: str
    start: datetime
    state: State
    verified: bool
    trigger: Trigger = Trigger.SCHEDULE
    parent: str | None = None
    pinned_until: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("start", "pinned_until"):
            instant = getattr(self, name)
            if instant is not None and instant.tzinfo is None:
                raise ValueError(f"{name} of an archive must carry a time zone, {self.id} has none")

    @property
    def pin(self) -> datetime | None:
        """Until when it stays in any case: 30 days for a MANUAL or PRE_RESTORE run, longer where a person says so."""
        if self.trigger not in (Trigger.MANUAL, Trigger.PRE_RESTORE):
            return self.pinned_until
        by_trigger = self.start + PINNED_FOR
        return by_trigger if self.pinned_until is None else max(by_trigger, self.pinned_until)


def age(archive: Archive) -> tuple[datetime, str]:
    """What archives are ordered by, oldest first; of two at one instant the greater id is the newer."""
    return archive.start, archive.id
