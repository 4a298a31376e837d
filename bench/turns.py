"""Run the cases: the systems take turns, repeat by repeat, so that noise falls on all of them."""

import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg

from bench import report
from bench.cases import CASES
from bench.commandline import Options
from bench.errors import Broken, Skipped
from bench.registry import Case, Figures
from bench.server import Server, started
from bench.system import System


def measure(options: Options) -> int:
    """Run all, print the table, write the JSON file after each case; 1 when hubqueue has no figure in some case."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results: report.Results = {}
    with started() as server, ExitStack() as closing:
        print(_about(server), file=sys.stderr)
        systems = _open(options, server, closing)
        if "hubqueue" not in systems:
            return 1
        for name in options.cases:
            results[name] = _take_turns(CASES[name], systems, options)
            if options.json:
                report.write(options.json, {name: results[name]})
    print(report.table(results, CASES))
    broken = [name for name, figures in results.items() if report.failed(figures)]
    if broken:
        print(f"failed: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def _open(options: Options, server: Server, closing: ExitStack) -> dict[str, System]:
    systems: dict[str, System] = {}
    for name in ("hubqueue", *options.peers):
        try:
            systems[name] = System(name, server)
            closing.callback(systems[name].close)
            print(f"{name}: {systems[name].facts['setting']}", file=sys.stderr)
        except (Skipped, Broken) as reason:
            print(f"{name} is left out: {reason}", file=sys.stderr)
    return systems


def _take_turns(case: Case, systems: dict[str, System], options: Options) -> dict[str, Figures]:
    ours = systems["hubqueue"]
    turns: dict[str, Callable[[], Figures]] = {}
    if case.variants:
        for label, variant in case.variants.items():
            turns[label] = lambda variant=variant: case.run(ours, options, variant)
    else:
        for name, system in systems.items():
            if system is ours or not case.ours:
                turns[name] = lambda system=system: case.run(system, options)
    runs: dict[str, list[Figures]] = {label: [] for label in turns}
    for number in range(options.repeat):
        for label, turn in turns.items():
            if any("skipped" in each for each in runs[label]):
                continue
            figures = _one_run(turn)
            runs[label].append(figures)
            shown = report.shown(case.shown, figures)
            print(f"{case.name} {number + 1}/{options.repeat} {label}: {shown}", file=sys.stderr)
    for system in systems.values():
        system.reset()
    return {label: report.median(each) for label, each in runs.items()}


def _one_run(turn: Callable[[], Figures]) -> Figures:
    try:
        return turn()
    except Skipped as skipped:
        return {"skipped": str(skipped)}
    except Broken as broken:
        return {"error": str(broken)}
    except Exception as raised:
        traceback.print_exc()
        return {"error": f"{type(raised).__name__}: {raised}"}


def _about(server: Server) -> str:
    with psycopg.connect(server.url) as connection:
        row: Any = connection.execute(
            "SELECT current_setting('server_version'), current_setting('fsync'),"
            " current_setting('synchronous_commit')"
        ).fetchone()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return (
        f"{os.cpu_count()} CPUs (load {load}), Python {platform.python_version()}, PostgreSQL {row[0]},"
        f" fsync {row[1]}, synchronous_commit {row[2]}"
    )
