"""How soon an idle worker picks up a job."""

import statistics
import time

from bench.commandline import Options
from bench.registry import Figures, case
from bench.system import System

WARM_UP = 5
EVERY = 0.05
PICKUPS = 200


@case("latency", shown="{p50:.1f} / {p95:.1f} / {p99:.1f} ms")
def latency(system: System, options: Options) -> Figures:
    """from the return of enqueue to the start of the body, one job every 50 ms: p50 / p95 / p99"""
    count = options.jobs or PICKUPS
    system.reset()
    system.start(1, options.concurrency)
    system.ask("enqueue", kind="noop", first=count + 1, count=WARM_UP)
    system.await_starts(WARM_UP, options.patience)
    time.sleep(1)
    sent = system.ask("enqueue", kind="noop", first=1, count=count, every=EVERY)["sent"]
    system.await_starts(WARM_UP + count, options.patience)
    waits = [
        (start.at - sent[start.number - 1]) * 1000
        for start in system.starts()
        if start.number <= count
    ]
    system.kill()
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "worst": max(waits)}
