"""What a worker costs that has nothing to do."""

import time

from bench.commandline import Options
from bench.processes import cpu_seconds, tree
from bench.registry import Figures, case
from bench.system import System

SETTLE = 12


@case(
    "idle",
    shown="{statements_per_process:.2f} statements/s a process, {cpu:.2f} % CPU, {processes:.0f} processes",
)
def idle(system: System, options: Options) -> Figures:
    """statements a second and CPU of a worker that did one job and waits for the next"""
    system.reset()
    ours = system.server.log is not None
    if ours:
        system.db.execute(f"ALTER DATABASE {system.database} SET log_statement = 'all'")
    try:
        system.start(1, options.concurrency, whole=True)
        system.ask("enqueue", kind="noop", first=1, count=1)
        system.await_starts(1, options.patience)
        time.sleep(SETTLE)
        pids = tree([worker.pid for worker in system.workers])
        before, busy = _so_far(system, None), cpu_seconds(pids)
        time.sleep(options.seconds)
        busy = cpu_seconds(pids) - busy
        said = _so_far(system, before)
    finally:
        system.db.execute(f"ALTER DATABASE {system.database} RESET log_statement")
        system.kill()
    rate = said / options.seconds
    return {
        "statements": rate,
        "statements_per_process": rate / len(pids),
        "cpu": 100 * busy / options.seconds,
        "processes": len(pids),
        "counted": "statements in the server's log" if ours else "transactions",
    }


def _so_far(system: System, before: int | None) -> int:
    """A mark; then, with the mark, what was said since. Statements in the log, else transactions."""
    log = system.server.log
    if log is None:
        return system.written()[1] - (before or 0)
    return (
        log.stat().st_size
        if before is None
        else system.server.statements(system.database, since=before)
    )
