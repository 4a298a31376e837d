"""A queue at work: one database, its load, its workers. A fault happens to it, and then it is checked."""

from collections.abc import Collection, Mapping

from tests.faults.afterwards import check
from tests.faults.load import BRISK, Load, start_workers
from tests.support.hub import Hub
from tests.support.wait import until
from tests.support.workers import WorkerTree


class Site:
    """Workers and enqueuers on ``hub``'s empty database, started at once; ``close()`` ends them."""

    def __init__(
        self,
        hub: Hub,
        *,
        trees: int = 2,
        processes: int = 1,
        threads: int = 4,
        seconds: Mapping[str, float] = BRISK,
        **env: str,
    ) -> None:
        self.hub = hub
        self.load = Load(hub)
        self.trees: list[WorkerTree] = [
            start_workers(hub, processes=processes, threads=threads, seconds=seconds, **env)
            for _ in range(trees)
        ]
        self.load.start()
        self.sound = False

    def ready(self) -> None:
        """Wait until work is being done."""
        for tree in self.trees:
            self.hub.registered(tree, 1)
        self.load.goes_on()

    def leader(self) -> int:
        """The process id of the scheduler that leads."""
        statement = (
            "SELECT pid FROM hubqueue_leader WHERE ticked_at > hubqueue_now() - interval '3 s'"
        )
        return int(until(lambda: self.hub.rows(statement), message="a leader")[0]["pid"])

    def check(
        self,
        *,
        explained: Collection[str] = (),
        spent: Collection[str] = (),
        within: float = 90.0,
    ) -> None:
        """All that must hold after a fault; see ``afterwards.check``. Then the next fault may come."""
        check(self.hub, self.load, self.trees, explained=explained, spent=spent, within=within)
        self.sound = True

    def close(self) -> None:
        """End everybody, also those whom a fault left stopped."""
        self.load.kill()
        self.hub.close()
