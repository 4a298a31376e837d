"""The settings of the notifications app."""

from dataclasses import dataclass
from datetime import timedelta

from hubqueue.appsettings import mistyped, reader


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case. Times are seconds unless named otherwise."""

    notifications_retention_days: int = 90

    @property
    def retention(self) -> timedelta:
        return timedelta(days=self.notifications_retention_days)

    def problems(self) -> list[str]:
        """What cannot be used, one sentence each."""
        return mistyped(self)


conf = reader(Conf)
