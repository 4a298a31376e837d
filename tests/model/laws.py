"""The invariants of the contract over all rows, asked of the database and not of the model."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from hubqueue.lifecycle.guard import Claimed
from tests.model.book import Book
from tests.model.claims import Claiming, ClaimSuspect
from tests.model.deed import Deed
from tests.model.endings import Touching
from tests.model.moments import Span, is_over, span
from tests.model.row import COLUMNS, EDGES, FINISHED, READY, RUNNING, UNFINISHED
from tests.model.verbs import Purge
from tests.model.world import World


def check_rows(before: list[dict[str, Any]], rows: list[dict[str, Any]], *, single: bool) -> None:
    """What must hold of all rows at any time, and of every change of one."""
    old = {row["id"]: row for row in before}
    keys = Counter(
        (row["kind"], row["dedupe_key"])
        for row in rows
        if row["state"] in UNFINISHED and row["dedupe_key"]
    )
    assert not keys or max(keys.values()) == 1, "two unfinished jobs of one key"
    for row in rows:
        _check_row(row)
        was = old.get(row["id"])
        if was is None:
            assert not single or row["state"] == READY, "a job is born READY"
        elif was != row:
            _check_change(was, row, single=single)
    gone = old.keys() - {row["id"] for row in rows}
    assert all(old[job_id]["state"] in FINISHED for job_id in gone), "an unfinished job is gone"


def _check_row(row: dict[str, Any]) -> None:
    running = row["state"] == RUNNING
    assert (row["finished_at"] is not None) is (row["state"] in FINISHED)
    assert (row["claimed_by"] is not None) is running
    assert not running or (row["attempts"] >= 1 and row["fence"] > 0 and row["claimed_at"])
    assert row["stop_requested"] is None or running
    # One more than allowed may be claimed, to be given up; nobody spends it but a death over that.
    assert row["attempts"] >= 0
    assert row["progress"] is None or 0 <= row["progress"] <= 1


def _check_change(was: dict[str, Any], row: dict[str, Any], *, single: bool) -> None:
    move = (was["state"], row["state"])
    assert not single or was["state"] == row["state"] or move in EDGES, f"{move} is no move"
    assert row["fence"] >= was["fence"], "a fence went back"
    if single:
        assert (row["fence"] > was["fence"]) is (row["state"] == RUNNING != was["state"])
        # Nothing but the claim spends, and nothing gives back more than one or starts anew.
        assert row["attempts"] in (was["attempts"] - 1, was["attempts"], was["attempts"] + 1, 0)
    for column in (
        "kind",
        "queue",
        "tenant_id",
        "payload",
        "dedupe_key",
        "max_attempts",
        "created_at",
    ):
        assert row[column] == was[column], f"the {column} of a job changed"


def compare(book: Book, world: World, rows: list[dict[str, Any]]) -> None:
    """Every row, history, lease, pause and entry is what the book says. The book learns the moments."""
    found = {row["id"]: row for row in rows}
    assert found.keys() == book.rows.keys(), "jobs that nobody enqueued, or that are gone"
    for job_id, row in found.items():
        book.rows[job_id] = book.rows[job_id].met({column: row[column] for column in COLUMNS})
    rest = world.rest()
    assert rest.failures == {
        job_id: [(each.attempt, each.spent, each.code) for each in kept]
        for job_id, kept in book.failures.items()
    }
    assert rest.leases.keys() == book.leases.keys()
    assert all(rest.leases[each] in span(lease) for each, lease in book.leases.items())
    book.leases = dict(rest.leases)
    assert rest.pauses == book.pauses
    assert rest.entries == book.entries


def check_wait(deed: Deed) -> None:
    """What never waits for anybody's row."""
    never = isinstance(deed, (Claiming, ClaimSuspect, Purge)) or (
        isinstance(deed, Touching) and deed.share is not None
    )
    assert not never, f"{type(deed).__name__} waited for a row that is locked"


def check_turns(book: Book, queue: str, now: datetime, claim_one: Callable[[str], Claimed]) -> None:
    """With room for one job at a time, every tenant of the most urgent priority is served within one round."""
    present = Span(now, now)
    due = [
        row
        for row in book.rows.values()
        if row.state == READY
        and row.queue == queue
        and not row.suspect
        and is_over(row.run_at, present)
        and not book.is_paused(row, present)
    ]
    if not due:
        return
    most_urgent = min(row.priority for row in due)
    tenants = {row.tenant_id for row in due if row.priority == most_urgent}
    served = [claim_one(queue).tenant for _ in tenants]
    assert set(served) == tenants, f"{tenants - set(served)} were passed over"
