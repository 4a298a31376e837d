"""The leads app on the queue: arming, walks of many registrations, of many requests, and of one more."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.chorus import sing
from bench.commandline import Options
from bench.errors import Broken, Skipped
from bench.processes import resident_mib, tree
from bench.registry import Figures, case
from bench.system import System

MOST_SECONDS = 20.0
SLICES = 10
REGISTRATIONS = 100_000
REQUESTS = 10_000
COUNTED = 200
SMALL = 100
GROWTHS = 50
LOOK_EVERY = 0.1


@case("leads-arm", shown="{ratio:.2f} ({rate:,.0f} of {unarmed:,.0f})", ours=True)
def arm(system: System, options: Options) -> Figures:
    """registrations/s of 32 clients on one event, relative to the same without arming leads"""
    with _stage(system):
        given = {
            "event": _ask(system, "event"),
            "seconds": min(options.seconds, MOST_SECONDS),
            "slices": SLICES,
        }
        answers = sing(system, [_command("register", given)] * options.writers)
    rate, unarmed = (sum(each[name] for each in answers) for name in ("armed", "unarmed"))
    return {"rate": rate, "unarmed": unarmed, "ratio": rate / unarmed}


@case("leads-day", shown="{rate:,.0f} ({first:.0f} to {last:.0f} MiB)", ours=True)
def day(system: System, options: Options) -> Figures:
    """registrations/s of a pass over 100,000 of one event that become one lead"""
    return _walk(system, options, orders=False)


@case("leads-orders", shown="{rate:,.0f} ({first:.0f} to {last:.0f} MiB)", ours=True)
def orders(system: System, options: Options) -> Figures:
    """the same of 50,000 orders of two"""
    return _walk(system, options, orders=True)


@case(
    "leads-idle",
    shown="{rate:,.0f} requests/s, {statements:.1f} statements and {commits:.1f} commits each",
    ours=True,
)
def idle(system: System, options: Options) -> Figures:
    """a pass over 10,000 requests with nothing to do, and statements per request"""
    count = options.jobs or REQUESTS
    with _stage(system):
        _ask(system, "event")
        _ask(system, "requests", count=count)
        before = system.written()[1]
        _start_and_wait(system, options)
        commits = system.written()[1] - before
        (rate,) = _row(system, "SELECT count(*) / extract(epoch FROM " + SPAN + ")" + WALKED)
        system.kill()
    return {
        "rate": float(rate),
        "commits": commits / count,
        "statements": _statements(system, options),
    }


@case("leads-new", shown="{ms:.1f} ms (small event {small:.1f} ms)", ours=True)
def new(system: System, options: Options) -> Figures:
    """a pass for one new registration of an event with 1,000,000, and of one with 100"""
    sizes = {"small": SMALL, "ms": options.rows}
    figures: Figures = {}
    for name, size in sizes.items():
        with _stage(system):
            event = _ask(system, "event")
            _ask(system, "fill", event=event, count=size, orders=False)
            _ask(system, "arm", event=event)
            _ask(system, "walk")
            figures[name] = _ask(system, "grow", event=event, count=GROWTHS)["ms"]
    return figures


# The walks of all requests: from the first claim to the last end.
SPAN = "max(updated_at) - min(attempted_at)"
WALKED = " FROM leads_leadrequest WHERE done"
OPEN = "SELECT count(*), count(claimed_at) FROM leads_leadrequest WHERE NOT done"


def _walk(system: System, options: Options, *, orders: bool) -> Figures:
    count = options.jobs or REGISTRATIONS
    with _stage(system):
        event = _ask(system, "event")
        _ask(system, "fill", event=event, count=count, orders=orders)
        _ask(system, "arm", event=event)
        held = _start_and_wait(system, options)
        (seconds,) = _row(system, f"SELECT extract(epoch FROM {SPAN}){WALKED}")
        (taken,) = _row(system, "SELECT count(*) FROM leads_leadprovenanceregistration")
        system.kill()
    if taken != count:
        raise Broken(f"{taken} of {count} registrations were taken")
    first = held[len(held) // 10]
    return {"rate": count / float(seconds), "first": first, "last": held[-1], "held": held}


def _statements(system: System, options: Options) -> float:
    """What the server's log counts for a few requests more, the worker's own statements included."""
    if system.server.log is None:
        return float("nan")
    with _stage(system):
        _ask(system, "event")
        _ask(system, "requests", count=COUNTED)
        system.db.execute(f"ALTER DATABASE {system.database} SET log_statement = 'all'")
        try:
            before = system.server.log.stat().st_size
            _start_and_wait(system, options)
            said = system.server.statements(system.database, since=before)
        finally:
            system.db.execute(f"ALTER DATABASE {system.database} RESET log_statement")
            system.kill()
    return said / COUNTED


def _start_and_wait(system: System, options: Options) -> list[float]:
    """A worker until no request is open; what its processes held in memory while it walked, in MiB."""
    system.start(1, 1)
    held = []
    horizon = time.monotonic() + options.patience
    while True:
        left, walked = _row(system, OPEN)
        if walked or not left:
            held.append(resident_mib(tree([worker.pid for worker in system.workers])))
        if not left:
            return held
        if time.monotonic() > horizon:
            raise Broken(f"the pass took more than {options.patience:g} s: see {system.said.name}")
        time.sleep(LOOK_EVERY)


@contextmanager
def _stage(system: System) -> Iterator[None]:
    """The leads app in the benchmark's project, its tables and the queue's empty."""
    if system.name != "hubqueue":
        raise Skipped("means nothing for a peer")
    system.environment["BENCH_LEADS"] = "1"
    try:
        _ask(system, "setup")
        system.reset()
        yield
    finally:
        system.kill()
        del system.environment["BENCH_LEADS"]


def _ask(system: System, operation: str, **given: Any) -> Any:
    done = subprocess.run(
        _command(operation, given),
        env=system.environment,
        stdout=subprocess.PIPE,
        stderr=system.said,
        check=False,
    )
    if done.returncode != 0:
        raise Broken(f"{operation} failed: see {system.said.name}")
    return json.loads(done.stdout.splitlines()[-1])


def _command(operation: str, given: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", "bench.leads_agent", operation, json.dumps(given)]


def _row(system: System, query: str) -> Any:
    row = system.db.execute(query.encode()).fetchone()
    assert row is not None
    return row
