"""The settings of webhooks."""

from dataclasses import dataclass
from datetime import timedelta

from hubqueue.appsettings import mistyped, reader

LONGEST_DEADLINE = 60.0


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case. Times are seconds, sizes bytes.

    ``webhooks_in_flight`` is how many attempts one subscription may have under way at a time,
    ``webhooks_dead_in_row`` how many messages given up in a row switch it off.
    """

    webhooks_allow_private: bool = False
    webhooks_source: str = "urn:hubqueue"
    webhooks_timeout: float = 5.0
    webhooks_deadline: float = 15.0
    webhooks_answer_limit: int = 8 * 1024
    webhooks_in_flight: int = 2
    webhooks_dead_in_row: int = 3
    webhooks_rotation_hours: int = 24
    webhooks_retention_days: int = 30

    @property
    def rotation(self) -> timedelta:
        return timedelta(hours=self.webhooks_rotation_hours)

    @property
    def retention(self) -> timedelta:
        return timedelta(days=self.webhooks_retention_days)

    def problems(self) -> list[str]:
        """What cannot be used, one sentence each."""
        found = mistyped(self)
        if found:
            return found
        if not self.webhooks_timeout <= self.webhooks_deadline <= LONGEST_DEADLINE:
            found.append(
                f"WEBHOOKS_DEADLINE ({self.webhooks_deadline:g} s) must be from WEBHOOKS_TIMEOUT"
                f" ({self.webhooks_timeout:g} s) to {LONGEST_DEADLINE:g} s."
            )
        return found


conf = reader(Conf)
