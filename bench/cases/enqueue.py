"""How fast work comes in."""

from bench.commandline import Options
from bench.errors import Skipped
from bench.registry import Figures, case, jobs
from bench.system import System

WARM_UP = 20
SHOWN = "{rate:,.0f} (client {client_ms:.2f} of {total_ms:.2f} ms)"


@case("enqueue", shown=SHOWN)
def one_by_one(system: System, options: Options) -> Figures:
    """jobs/s that one client enqueues one by one, each its own commit"""
    system.reset()
    count = jobs(system, options, 2_000)
    answer = system.ask("enqueue", kind="noop", first=1, count=count, warm=WARM_UP)
    return _figures(answer, count)


@case("bulk", shown=SHOWN)
def bulk(system: System, options: Options) -> Figures:
    """jobs/s of one call that enqueues 10,000"""
    if not system.facts["bulk"]:
        raise Skipped("no bulk call")
    system.reset()
    count = options.jobs or 10_000
    return _figures(system.ask("load", kind="noop", first=1, count=count, warm=WARM_UP), count)


def _figures(answer: dict[str, float], count: int) -> Figures:
    """``client_ms`` is the client's time on a CPU per job; the rest of ``total_ms`` it waits for the server."""
    return {
        "rate": count / answer["seconds"],
        "client_ms": answer["cpu"] * 1000 / count,
        "total_ms": answer["seconds"] * 1000 / count,
    }
