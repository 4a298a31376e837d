"""How soon a job runs again when the process that ran it is gone."""

import os
import signal
import time

from bench.commandline import Options
from bench.errors import Broken
from bench.registry import Figures, case
from bench.system import System


@case("crash-child", shown="{seconds:.1f} s", ours=True)
def child(system: System, options: Options) -> Figures:
    """seconds from SIGKILL of the process that ran a job to the job's next start"""
    return _again(system, options, whole=False)


@case("crash-worker", shown="{seconds:.1f} s")
def worker(system: System, options: Options) -> Figures:
    """the same when the whole worker was killed, and another one started"""
    return _again(system, options, whole=True)


def _again(system: System, options: Options, *, whole: bool) -> Figures:
    system.reset()
    system.start(1, options.concurrency, whole=True)
    system.ask("enqueue", kind="sleep", first=1, count=1)
    system.await_starts(1, options.patience)
    time.sleep(1)
    killed = time.monotonic()
    if whole:
        system.kill()
        system.start(1, options.concurrency, whole=True)
    else:
        os.kill(system.starts()[0].pid, signal.SIGKILL)
    try:
        system.await_starts(2, options.crash_wait)
    except Broken:
        return {"note": f"not within {options.crash_wait:g} s"}
    finally:
        again = system.starts()
        system.kill()
    return {"seconds": again[1].at - killed}
