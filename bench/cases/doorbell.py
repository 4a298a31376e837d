"""What ringing the doorbell costs those who enqueue."""

import json

import psycopg

from bench.chorus import sing
from bench.commandline import Options
from bench.registry import Figures, case
from bench.system import System

MOST_SECONDS = 5.0


@case("doorbell", shown="{ratio:.2f} ({rate:,.0f} of {silent:,.0f})", ours=True)
def doorbell(system: System, options: Options) -> Figures:
    """jobs/s that 32 processes enqueue one by one, relative to the same without the doorbell"""
    with psycopg.connect(system.url, autocommit=True, application_name="bench-observer") as hearing:
        hearing.execute('LISTEN "hubqueue:default"')
        silent = _flood(system, options, {"BENCH_SILENT": "1"})
        rate = _flood(system, options, {})
    return {"rate": rate, "silent": silent, "ratio": rate / silent}


def _flood(system: System, options: Options, environment: dict[str, str]) -> float:
    """Writers that begin together once all of them are connected."""
    system.reset()
    seconds = min(options.seconds, MOST_SECONDS)
    command = [*system.command, "flood", json.dumps({"seconds": seconds})]
    answers = sing(system, [command] * options.writers, environment)
    return sum(each["sent"] / each["seconds"] for each in answers)
