"""Thousands of transactional jobs under a rain of SIGKILLs, alone and grouped: each takes effect, and no one twice."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.hub import Hub
from tests.support.postgres import Cluster
from tests.support.reaper import Reaper
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# What a kill explains. A second effect would have met the unique constraint.
EXPLAINED = {
    ("worker_died", ""),
    ("interrupted", ""),
    ("row_busy", ""),
    ("connection_lost", ""),
    ("connection_lost", "57P01"),
}


def lone_seconds(dice: random.Random, number: int) -> float:
    """Half of them last 0.2 to 2 s."""
    return round(dice.uniform(0.2, 2), 3) if number % 2 else 0.0


def grouped_seconds(dice: random.Random, number: int) -> float:
    """Five share a commit, and after a kill each runs alone."""
    return round(dice.uniform(0.1, 0.5), 3)


def put_jobs(hub: Hub, dice: random.Random, kind: str, count: int, seconds: Any) -> list[str]:
    """About every fourth holds its own row."""
    payloads: list[dict[str, Any]] = [
        {
            "name": f"job-{number:04}",
            "seconds": seconds(dice, number),
            "hold": number % 4 == 0 or (number % 4 == 3 and dice.random() < 0.3),
        }
        for number in range(count)
    ]
    dice.shuffle(payloads)
    hub.put(kind, payloads, max_attempts=1000)
    return sorted(each["name"] for each in payloads)


@pytest.mark.parametrize(
    ("kind", "jobs", "kills", "threads", "seconds"),
    [
        ("proof.effect", 2000, 110, 8, lone_seconds),
        ("proof.effect_grouped", 1000, 44, 2, grouped_seconds),
    ],
    ids=["one commit each", "grouped"],
)
def test_every_effect_once_through_a_rain_of_kills(
    private_hub: Any,
    kind: str,
    jobs: int,
    kills: int,
    threads: int,
    seconds: Callable[[random.Random, int], float],
) -> None:
    seed = int(os.environ.get("PROOF_SEED", str(random.randrange(10**6))))
    print(f"PROOF_SEED={seed}")
    dice = random.Random(seed)
    with Cluster(settings={"max_connections": "250"}) as postgres:
        hub = private_hub(postgres.url())
        names = put_jobs(hub, dice, kind, jobs, seconds)
        began = time.monotonic()
        options = ["--processes", "2", "--threads", str(threads)]
        reaper = Reaper(hub, dice, *options, trees=3, supervisors=6 / 110)
        until(lambda: hub.states()["SUCCEEDED"] > 0, timeout=60, message="the first success")
        reaper.rain(kills, jobs, finished_between=8)
        killed = time.monotonic() - began
        hub.all_reach("SUCCEEDED", within=300)
        report(hub, reaper, killed, time.monotonic() - began)

        assert hub.effects() == names
        assert reaper.in_flight_at_kills >= reaper.kills >= kills
        codes = hub.rows("SELECT code, sqlstate FROM hubqueue_failure GROUP BY 1, 2 ORDER BY 1")
        assert {(each["code"], each["sqlstate"]) for each in codes} <= EXPLAINED
        began_by_name = Counter(line.split()[0] for line in hub.lines("attempts"))
        assert sorted(began_by_name) == names
        assert began_by_name.total() > jobs
        assert (commits(hub) < jobs) == (kind == "proof.effect_grouped")
        for tree in reaper.trees:
            assert tree.interrupt() == 0


HOWS = {
    "swallow": ("database_error", "25P02"),
    "defer": ("database_error", "23505"),
    "late": ("timeout", ""),
    "fail": ("exception", ""),
}


def test_groups_that_members_spoil_take_effect_once_each_through_kills(private_hub: Any) -> None:
    """Errors swallowed, constraints deferred, hooks that fail, timeouts: each costs its own job an attempt only."""
    seed = int(os.environ.get("PROOF_SEED", str(random.randrange(10**6))))
    print(f"PROOF_SEED={seed}")
    dice = random.Random(seed)
    with Cluster(settings={"max_connections": "250"}) as postgres:
        hub = private_hub(postgres.url())
        hub.rows(
            "CREATE TABLE proof_deferred (name text,"
            " CONSTRAINT proof_deferred_once UNIQUE (name) DEFERRABLE INITIALLY DEFERRED)"
        )
        hows = [*HOWS] * 5 + ["hook"] * 60 + ["well"] * 220
        dice.shuffle(hows)
        names = [f"{number:03}-{how}" for number, how in enumerate(hows)]
        payloads = [{"name": name, "how": how} for name, how in zip(names, hows, strict=True)]
        hub.put("proof.mixed_grouped", payloads, max_attempts=1000)
        reaper = Reaper(hub, dice, "--threads", "2", trees=2, supervisors=0.1)
        reaper.rain(12, len(names), finished_between=5)
        hub.all_reach("SUCCEEDED", within=300)

        assert hub.effects() == names
        assert commits(hub) < len(names)
        hooked = hub.lines("hooked")
        assert len(hooked) == len(set(hooked)) > 0  # a kill right after the commit loses its hook
        assert set(hooked) <= {name for name in names if name.endswith("hook")}
        for row in spent(hub):
            own = {HOWS[row["how"]]} if row["how"] in HOWS else set()
            # Who died alone has lost an attempt, and with it the one that spoils.
            assert set(zip(row["codes"], row["states"], strict=True)) <= own | {("worker_died", "")}
        met = {code for row in spent(hub) for code in zip(row["codes"], row["states"], strict=True)}
        assert met >= set(HOWS.values())


def spent(hub: Hub) -> list[dict[str, Any]]:
    """Per job with spent attempts: how it behaves, and what they were spent on."""
    return hub.rows(
        "SELECT payload ->> 'how' AS how, array_agg(failure.code) AS codes, array_agg(failure.sqlstate) AS states"
        " FROM hubqueue_failure AS failure JOIN hubqueue_job AS job ON job.id = failure.job_id"
        " WHERE failure.spent GROUP BY job.id, 1"
    )


def commits(hub: Hub) -> int:
    """How many transactions wrote the effects."""
    return int(hub.rows("SELECT count(DISTINCT xmin::text) AS count FROM proof_effect")[0]["count"])


def report(hub: Hub, reaper: Reaper, killed: float, took: float) -> None:
    (row,) = hub.rows("SELECT max(attempts) AS spent, count(*) AS jobs FROM hubqueue_job")
    runs = len(hub.lines("attempts"))
    print(
        f"{reaper.kills} kills {dict(reaper.hits)} in {killed:.0f} s hit {reaper.in_flight_at_kills} attempts;"
        f" {row['jobs']} jobs took {runs} runs in {commits(hub)} commits and {took:.0f} s,"
        f" at most {row['spent']} attempts were spent on one"
    )
