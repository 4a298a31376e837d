"""Whether the queue keeps its rate while a backup holds a snapshot, so that no dead row can be removed."""

import psycopg

from bench.commandline import Options
from bench.registry import Figures, case, jobs
from bench.system import System

ROUNDS = 30
USUAL = 300_000
LEAST = 10


@case("snapshot", shown="{ratio:.2f} ({rate:,.0f} of {first:,.0f})")
def snapshot(system: System, options: Options) -> Figures:
    """the last 10,000 of 300,000 jobs under a REPEATABLE READ snapshot, relative to the first 10,000"""
    size = max(LEAST, jobs(system, options, USUAL) // ROUNDS)
    system.reset()
    rates = []
    with psycopg.connect(system.url, application_name="bench-observer") as holding:
        holding.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holding.execute("SELECT 1")
        system.start(1, options.concurrency)
        for number in range(ROUNDS):
            system.load("noop", size, first=number * size + 1)
            system.await_starts((number + 1) * size, options.patience)
            system.await_end(options.patience)
            starts = system.starts()[number * size : (number + 1) * size]
            rates.append((size - 1) / (starts[-1].at - starts[0].at))
        system.kill()
    return {"rate": rates[-1], "first": rates[0], "ratio": rates[-1] / rates[0], "rates": rates}
