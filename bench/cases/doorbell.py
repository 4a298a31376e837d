"""What ringing the doorbell costs those who enqueue."""

import json
import subprocess

import psycopg

from bench.commandline import Options
from bench.errors import Broken
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
    writers = [
        subprocess.Popen(
            [*system.command, "flood", json.dumps({"seconds": seconds})],
            env=system.environment | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=system.said,
            text=True,
        )
        for _ in range(options.writers)
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            if writer.stdout.readline() != "ready\n":
                raise Broken(f"a writer could not start: see {system.said.name}")
        answers = _answers(writers)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    return sum(each["sent"] / each["seconds"] for each in answers)


def _answers(writers: "list[subprocess.Popen[str]]") -> list[dict[str, float]]:
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    return [json.loads(writer.communicate()[0].splitlines()[-1]) for writer in writers]
