"""A rain of SIGKILLs on workers at work."""

import random
from collections import Counter
from signal import SIGCONT, SIGKILL, SIGSTOP

from tests.support.hub import Hub
from tests.support.wait import until
from tests.support.workers import Child, WorkerTree, is_alive, is_stopped, send

SECONDS = {"RESCUE_EVERY": 1}


class Reaper:
    """Kills children that have handlers in flight, and now and then a supervisor above such children.

    ``supervisors`` is the share of kills that go to them.
    """

    def __init__(
        self, hub: Hub, dice: random.Random, *options: str, trees: int, supervisors: float
    ) -> None:
        self.hub = hub
        self.dice = dice
        self.options = options
        self.supervisors = supervisors
        self.trees = [self._start() for _ in range(trees)]
        self.hits: Counter[str] = Counter()
        self.in_flight_at_kills = 0

    @property
    def kills(self) -> int:
        return self.hits.total()

    def kill_one(self) -> bool:
        """Stop one process, look whether handlers are in flight below it, and kill it only then."""
        tree = self.dice.choice(self.trees)
        children = tree.children()
        if not children:
            return False
        if self.hits["supervisor"] < int(self.supervisors * self.kills):
            return self._kill_supervisor(tree)
        return self._kill_child(self.dice.choice(children))

    def rain(self, kills: int, jobs: int, *, finished_between: int) -> None:
        """So many kills, and some work done between each two; there must be work to the end of it."""
        finished = 0
        while self.kills < kills:
            wanted = min(finished + finished_between, jobs)
            until(lambda: self.hub.states()["SUCCEEDED"] >= wanted, timeout=120)  # noqa: B023
            until(self.kill_one, timeout=120, message="a process with handlers in flight")
            finished = self.hub.states()["SUCCEEDED"]
            assert finished < jobs, f"all was done after {self.kills} kills"

    def _start(self) -> WorkerTree:
        return self.hub.start(*self.options, seconds=SECONDS)

    def _kill_child(self, child: Child) -> bool:
        if not stop([child.pid]):
            return False
        if hit := self._in_flight([child]):
            send(child.pid, SIGKILL)
            self.hits["solo" if child.solo else "child"] += 1
            self.in_flight_at_kills += hit
            return True
        send(child.pid, SIGCONT)
        return False

    def _kill_supervisor(self, tree: WorkerTree) -> bool:
        stopped = tree.freeze()
        hit = self._in_flight(tree.children())
        if hit:
            send(tree.pid, SIGKILL)
            self.hits["supervisor"] += 1
            self.in_flight_at_kills += hit
        tree.thaw([pid for pid in stopped if not hit or pid != tree.pid])
        if hit:
            self.trees[self.trees.index(tree)] = self._start()
        return bool(hit)

    def _in_flight(self, children: list[Child]) -> int:
        """How many attempts began in these (stopped) processes and are not settled."""
        held = self.hub.rows(
            "SELECT fence FROM hubqueue_job WHERE state = 'RUNNING' AND claimed_by = ANY (%s)",
            [[child.worker for child in children]],
        )
        began = {line.split()[3] for line in self.hub.lines("attempts")}
        return sum(str(row["fence"]) in began for row in held)


def stop(pids: list[int]) -> bool:
    for pid in pids:
        send(pid, SIGSTOP)
    until(
        lambda: all(is_stopped(pid) or not is_alive(pid) for pid in pids),
        message="the processes' stop",
    )
    return all(is_alive(pid) for pid in pids)
