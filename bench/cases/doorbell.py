"""What ringing the doorbell costs those who enqueue."""

import json

import psycopg

from bench.chorus import sing
from bench.commandline import Options
from bench.registry import Figures, case
from bench.system import System

MOST_SECONDS = 10.0
SLICES = 5


@case("doorbell", shown="{ratio:.2f} ({rate:,.0f} of {silent:,.0f})", ours=True)
def doorbell(system: System, options: Options) -> Figures:
    """jobs/s that 32 processes enqueue one by one, relative to the same without the doorbell"""
    system.reset()
    given = {"seconds": min(options.seconds, MOST_SECONDS), "slices": SLICES}
    command = [*system.command, "flood", json.dumps(given)]
    with psycopg.connect(system.url, autocommit=True, application_name="bench-observer") as hearing:
        hearing.execute('LISTEN "hubqueue:default"')
        answers = sing(system, [command] * options.writers)
    rate, silent = (sum(each[name] for each in answers) for name in ("rate", "silent"))
    return {"rate": rate, "silent": silent, "ratio": rate / silent}
