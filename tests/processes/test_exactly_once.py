"""Two thousand transactional jobs under a rain of SIGKILLs: two thousand effects, none lost, none twice."""

import os
import random
import time
from collections import Counter
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any

import pytest

from tests.support.hub import Hub
from tests.support.postgres import Cluster
from tests.support.wait import until
from tests.support.workers import Child, WorkerTree, is_alive, is_stopped, send

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

JOBS = 2000
KILLS = 110
SUPERVISORS = 6
FINISHED_BETWEEN_KILLS = 8
TREES = 3
OPTIONS = ["--processes", "2", "--threads", "8"]
SECONDS = {"RESCUE_EVERY": 1}


class Reaper:
    """Kills children that have handlers in flight, and now and then a supervisor above such children."""

    def __init__(self, hub: Hub, dice: random.Random) -> None:
        self.hub = hub
        self.dice = dice
        self.trees = [hub.start(*OPTIONS, seconds=SECONDS) for _ in range(TREES)]
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
        if self.hits["supervisor"] < SUPERVISORS * self.kills // KILLS:
            return self._kill_supervisor(tree)
        return self._kill_child(self.dice.choice(children))

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
            self.trees[self.trees.index(tree)] = self.hub.start(*OPTIONS, seconds=SECONDS)
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


def put_jobs(hub: Hub, dice: random.Random) -> list[str]:
    """Half of them last 0.2 to 2 s; every fourth holds its own row."""
    payloads: list[dict[str, Any]] = [
        {
            "name": f"job-{number:04}",
            "seconds": round(dice.uniform(0.2, 2), 3) if number % 2 else 0.0,
            "hold": number % 4 == 0,
        }
        for number in range(JOBS)
    ]
    payloads[3::4] = [each | {"hold": dice.random() < 0.3} for each in payloads[3::4]]
    dice.shuffle(payloads)
    hub.put("proof.effect", payloads, max_attempts=1000)
    return sorted(each["name"] for each in payloads)


def test_two_thousand_effects_through_a_hundred_kills(private_hub: Any) -> None:
    seed = int(os.environ.get("PROOF_SEED", str(random.randrange(10**6))))
    print(f"PROOF_SEED={seed}")
    dice = random.Random(seed)
    with Cluster(settings={"max_connections": "250"}) as postgres:
        hub = private_hub(postgres.url())
        names = put_jobs(hub, dice)
        began = time.monotonic()
        reaper = Reaper(hub, dice)
        until(lambda: hub.states()["SUCCEEDED"] > 0, timeout=60, message="the first success")
        finished = 0
        while reaper.kills < KILLS:
            wanted = min(finished + FINISHED_BETWEEN_KILLS, JOBS)
            until(lambda: hub.states()["SUCCEEDED"] >= wanted, timeout=120)  # noqa: B023
            until(reaper.kill_one, timeout=120, message="a process with handlers in flight")
            finished = hub.states()["SUCCEEDED"]
            assert finished < JOBS, f"all was done after {reaper.kills} kills"
        killed = time.monotonic() - began
        hub.all_reach("SUCCEEDED", within=300)
        report(hub, reaper, killed, time.monotonic() - began)

        assert hub.effects() == names
        assert reaper.in_flight_at_kills >= reaper.kills >= 100
        codes = hub.rows("SELECT code, sqlstate FROM hubqueue_failure GROUP BY 1, 2 ORDER BY 1")
        # A second effect would have met the unique constraint.
        assert {(each["code"], each["sqlstate"]) for each in codes} <= {
            ("worker_died", ""),
            ("interrupted", ""),
            ("row_busy", ""),
            ("connection_lost", ""),
        }
        began_by_name = Counter(line.split()[0] for line in hub.lines("attempts"))
        assert sorted(began_by_name) == names
        assert began_by_name.total() > JOBS
        for tree in reaper.trees:
            assert tree.interrupt() == 0


def report(hub: Hub, reaper: Reaper, killed: float, took: float) -> None:
    (most,) = hub.rows("SELECT max(attempts) AS spent FROM hubqueue_job")
    runs = len(hub.lines("attempts"))
    print(
        f"{reaper.kills} kills {dict(reaper.hits)} in {killed:.0f} s hit {reaper.in_flight_at_kills} attempts;"
        f" {JOBS} jobs took {runs} runs and {took:.0f} s, at most {most['spent']} attempts were spent on one"
    )
