"""No lost wake-up: whoever asked is served by a run that began after the request was committed."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.model.row import PARKED, READY, RUNNING


@dataclass(frozen=True, slots=True)
class Wish:
    """A committed request: for a key of a kind, or for the one job that it made."""

    target: tuple[str, str] | UUID
    moment: int


@dataclass
class Wishes:
    """Which requests no run that began after them has served yet. Knows nothing of how rows are predicted."""

    clock: int = 0
    waiting: list[Wish] = field(default_factory=list)
    began: dict[UUID, int] = field(default_factory=dict)

    def hear(self, event: tuple[str, Any]) -> None:
        """Take note of ``("asked" | "began" | "served" | "dropped", row)``, in the order of the commits."""
        name, row = event
        self.clock += 1
        if name == "asked":
            self.waiting.append(Wish(target_of(row), self.clock))
        elif name == "began":
            self.began[row.id] = self.clock
        else:
            # A run that ended for good serves who asked before it began; what an officer drops serves nobody,
            # and is his to answer for.
            until = self.began.get(row.id, 0) if name == "served" else self.clock
            self.waiting = [
                wish
                for wish in self.waiting
                if wish.target != target_of(row) or wish.moment > until
            ]

    def check(self, rows: list[dict[str, Any]]) -> None:
        """Every waiting wish has a row that will run, or a run that began after it, or a wake-up that is kept."""
        for wish in self.waiting:
            assert any(self._serves(row, wish) for row in rows), (
                f"{wish} has no job left to serve it"
            )

    def _serves(self, row: dict[str, Any], wish: Wish) -> bool:
        if wish.target not in (row["id"], (row["kind"], row["dedupe_key"])):
            return False
        if row["state"] == RUNNING:
            return self.began[row["id"]] > wish.moment or row["rerun_at"] is not None
        return row["state"] in (READY, PARKED)


def target_of(row: Any) -> tuple[str, str] | UUID:
    """What a request for this row asks for."""
    return row.id if row.dedupe_key is None else (row.kind, row.dedupe_key)
