"""A job's row as the contract says it is, and how it is compared with the one in the database."""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tests.model.moments import Span


class Anything:
    """The contract is silent about this column: whatever the row says is right."""

    def __repr__(self) -> str:
        return "ANY"


ANY: Final = Anything()

READY, RUNNING, PARKED = "READY", "RUNNING", "PARKED"
SUCCEEDED, CANCELLED, DEAD = "SUCCEEDED", "CANCELLED", "DEAD"
UNFINISHED = {READY, RUNNING, PARKED}
FINISHED = {SUCCEEDED, CANCELLED, DEAD}

# Written down anew on purpose: hubqueue.states is part of what is tried here.
EDGES = {
    (READY, READY),
    (READY, RUNNING),
    (READY, PARKED),
    (READY, CANCELLED),
    (RUNNING, RUNNING),
    (RUNNING, SUCCEEDED),
    (RUNNING, READY),
    (RUNNING, DEAD),
    (RUNNING, PARKED),
    (RUNNING, CANCELLED),
    (PARKED, PARKED),
    (PARKED, READY),
    (PARKED, CANCELLED),
    (DEAD, READY),
    (DEAD, CANCELLED),
}


@dataclass(frozen=True, slots=True)
class Row:
    """Every column. A ``Span`` stands for a moment of the step that wrote it, ``ANY`` for what is not promised."""

    id: UUID
    kind: str
    queue: str
    priority: int
    tenant_id: str | None
    payload: dict[str, Any]
    dedupe_key: str | None
    run_at: Any
    max_attempts: int
    created_at: Any
    state: str = READY
    attempts: int = 0
    failing_since: Any = None
    fence: int = 0
    claimed_by: UUID | None = None
    suspect: bool = False
    rerun_at: Any = None
    stop_requested: str | None = None
    progress: Any = None
    park_reason: Any = None
    error_code: str | None = None
    result: Any = None
    meta: Any = None
    claimed_at: datetime | None = None
    finished_at: Any = None

    @property
    def unfinished(self) -> bool:
        return self.state in UNFINISHED

    def changed(self, **values: Any) -> "Row":
        """The row after a move. The move must be one of the table's."""
        after = replace(self, **values)
        assert after.state == self.state or (self.state, after.state) in EDGES, (
            f"{self.state} to {after.state} is no move of the table"
        )
        return after

    def met(self, found: dict[str, Any]) -> "Row":
        """The same row with the moments that the database wrote. Fails where it says something else."""
        differences = []
        for column in COLUMNS:
            expected, actual = getattr(self, column), found[column]
            if expected is ANY:
                continue
            if not (actual in expected if isinstance(expected, Span) else actual == expected):
                differences.append(f"{column}: expected {expected!r}, found {actual!r}")
        assert not differences, f"job {self.id} ({found['state']})\n" + "\n".join(differences)
        return replace(self, **found)


COLUMNS = [field.name for field in fields(Row)]
