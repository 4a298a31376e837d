"""Workers and enqueuers on the pair, and what must be true of them afterwards."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import psycopg

from tests.faults.afterwards import check
from tests.faults.load import Load, start_workers
from tests.support.hub import Hub

WORKERS = 2
PATIENT = 300.0
FLOW = 200
# What a lost primary explains; none of them is spent.
LOST = {"connection_lost", "row_busy"}


class Burdened:
    """with Burdened(url, home) as queue: ...; queue.finish()"""

    def __init__(self, url: str, home: Path) -> None:
        home.mkdir()
        self.url = url
        self.hub = Hub(url, home)

    def __enter__(self) -> Self:
        self.hub.prepare()
        self.load = Load(self.hub, enqueuers=4)
        self.trees = [start_workers(self.hub, seconds={}) for _ in range(WORKERS)]
        for tree in self.trees:
            self.hub.registered(tree, 2)
        self.load.start()
        self.flows()
        self.children = {child.pid for tree in self.trees for child in tree.children()}
        return self

    def __exit__(self, *_: object) -> None:
        self.load.kill()
        self.hub.close()

    def flows(self) -> None:
        """Wait until so much more is enqueued and done."""
        self.load.keeps_enqueuing(FLOW, within=PATIENT)
        self.load.goes_on(FLOW, within=PATIENT)

    def has_settled(self, *, since: float) -> bool:
        """Whether a job was settled after the monotonic moment ``since``, for all to see."""
        before = time.time() - (time.monotonic() - since)
        with (
            suppress(psycopg.Error),
            psycopg.connect(self.url, autocommit=True, connect_timeout=2) as session,
        ):
            rows = session.execute(
                "SELECT 1 FROM hubqueue_job WHERE finished_at > to_timestamp(%s) LIMIT 1", [before]
            )
            return rows.fetchone() is not None
        return False

    def finish(self) -> dict[str, int]:
        """See that the supervisors are the same, and let everything end; answers the figures.

        Raises ``AssertionError`` with the promise that did not hold.
        """
        check(self.hub, self.load, self.trees, explained=LOST, within=PATIENT)
        here = {child.pid for tree in self.trees for child in tree.children()}
        self.load.stop()
        check(self.hub, self.load, self.trees, explained=LOST, within=PATIENT)
        (row,) = self.hub.rows("SELECT count(*) AS failures FROM hubqueue_failure WHERE NOT spent")
        return {
            "acknowledged": len(self.load.acknowledged()),
            "effects": self.load.done(),
            "refused or in doubt": len(self.load.refusals()),
            "runs": len(self.load.runs()),
            "handed back": row["failures"],
            # A COMMIT that waits for a standby for longer than the timeout of its handler costs the process.
            "children replaced": len(self.children - here),
        }
