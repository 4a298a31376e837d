"""Whether a worker grows."""

from bench.commandline import Options
from bench.processes import resident_mib, tree
from bench.registry import Figures, case, jobs
from bench.system import System

ROUNDS = 30
USUAL = 300_000


@case("memory", shown="{first:.0f} to {last:.0f} MiB")
def memory(system: System, options: Options) -> Figures:
    """the worker's processes in memory, after the first tenth and after the last of 300,000 jobs"""
    size = max(1, jobs(system, options, USUAL) // ROUNDS)
    system.reset()
    system.start(1, options.concurrency)
    held = []
    for number in range(ROUNDS):
        system.load("noop", size, first=number * size + 1)
        system.await_starts((number + 1) * size, options.patience)
        system.await_end(options.patience)
        held.append(resident_mib(tree([worker.pid for worker in system.workers])))
    system.kill()
    first, last = held[ROUNDS // 10 - 1], held[-1]
    return {"first": first, "last": last, "growth": last / first, "held": held}
