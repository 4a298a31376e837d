"""What a pass did, in numbers."""

from dataclasses import asdict, dataclass, fields


@dataclass(slots=True)
class Summary:
    """Counts of one walk or of a whole pass. ``parked`` are requests that a failure stopped."""

    claimed: int = 0
    rules: int = 0
    matched: int = 0
    groups_created: int = 0
    groups_grown: int = 0
    leads_created: int = 0
    leads_updated: int = 0
    completed: int = 0
    parked: int = 0
    lost: int = 0

    def add(self, other: "Summary") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def numbers(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)
