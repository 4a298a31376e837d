"""How fast work gets done: from the first start to the moment when the end of the last job is stored."""

import time
from collections.abc import Sequence

from bench.commandline import Options
from bench.errors import Broken
from bench.processes import cpu_seconds, tree
from bench.registry import Figures, case, jobs
from bench.starts import Start
from bench.system import System

USUAL = 10_000


@case("drain")
def drain(system: System, options: Options) -> Figures:
    """no-op jobs/s of one worker process"""
    return drained(system, options, "noop", 1)


@case("drain2")
def drain2(system: System, options: Options) -> Figures:
    """no-op jobs/s of two worker processes"""
    return drained(system, options, "noop", 2)


@case("drain-detached")
def drain_detached(system: System, options: Options) -> Figures:
    """the same of a detached handler, one worker process (peers: as in drain)"""
    return drained(system, options, "noop_detached", 1)


@case("effect")
def effect(system: System, options: Options) -> Figures:
    """jobs/s that each insert a row with a unique key, one worker process"""
    return drained(system, options, "effect", 1)


@case("effect2")
def effect2(system: System, options: Options) -> Figures:
    """the same, two worker processes"""
    return drained(system, options, "effect", 2)


@case("effect-grouped")
def effect_grouped(system: System, options: Options) -> Figures:
    """the same, one worker process, a handler with group=100, pipeline=True (peers: as in effect)"""
    return drained(system, options, "effect_grouped", 1)


@case("effect-grouped2")
def effect_grouped2(system: System, options: Options) -> Figures:
    """the same, two worker processes"""
    return drained(system, options, "effect_grouped", 2)


def drained(system: System, options: Options, kind: str, processes: int) -> Figures:
    """Enqueue, then start the worker.

    The clock starts when the last of its processes has started its first job, and only jobs from then on
    count: an interpreter's start is left out, and so is what the quicker process did alone.
    """
    count = jobs(system, options, USUAL) * processes
    system.reset()
    system.load(kind, count)
    system.analyze()
    wal, commits = system.written()
    system.start(processes, options.concurrency)
    system.await_starts(1, options.patience)
    busy = cpu_seconds(_pids(system))
    system.await_starts(count, options.patience)
    system.await_end(options.patience)
    ended = time.monotonic()
    busy = cpu_seconds(_pids(system)) - busy
    starts = system.starts()
    system.kill()
    wal_after, commits_after = system.written()
    began = all_at_work(starts, processes)
    counted = sum(start.at >= began for start in starts)
    figures: Figures = {
        "rate": counted / (ended - began),
        "cpu_ms": busy * 1000 / count,
        "wal_bytes": (wal_after - wal) / count,
        "commits": (commits_after - commits) / count,
        "repeats": len(starts) - count,
    }
    if not kind.startswith("noop") and system.effects() != count:
        raise Broken(f"expected {count} effects, got {system.effects()}")
    return figures


def _pids(system: System) -> list[int]:
    return tree([worker.pid for worker in system.workers])


def all_at_work(starts: Sequence[Start], processes: int) -> float:
    """When the last of the processes started its first job. Raises ``Broken`` when one never got a job."""
    first: dict[int, float] = {}
    for start in starts:
        first.setdefault(start.pid, start.at)
    if len(first) < processes:
        raise Broken(f"{len(first)} of {processes} processes got a job: raise --jobs")
    return sorted(first.values())[processes - 1]
