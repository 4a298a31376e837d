"""The rate of some jobs with something else in the table, relative to the rate without it."""

from collections.abc import Callable

from bench import starts
from bench.commandline import Options
from bench.registry import Figures
from bench.system import System

SHOWN = "{ratio:.2f} ({rate:,.0f} of {alone:,.0f})"


def beside(
    system: System, options: Options, count: int, fill: Callable[[], None] | None
) -> Figures:
    """Measure ``count`` jobs alone, then with what ``fill`` adds: ``rate``, ``alone`` and their ``ratio``."""

    def enqueue() -> None:
        system.load("noop", count)

    def enqueue_and_fill() -> None:
        enqueue()
        if fill is not None:
            fill()

    alone = start_rate(system, options, count, enqueue)
    rate = start_rate(system, options, count, enqueue_and_fill)
    return {"rate": rate, "alone": alone, "ratio": rate / alone}


def start_rate(system: System, options: Options, count: int, fill: Callable[[], None]) -> float:
    """Starts per second from the first to the last of ``count``. The worker may have more to do behind them."""
    system.reset()
    fill()
    system.analyze()
    system.start(1, options.concurrency)
    system.await_starts(count, options.patience)
    begun = system.starts()[:count]
    system.kill()
    return starts.rate(begun)
