"""``python -m hubqueue.scheduler``: the scheduler's process, started by ``runworker``.

Writes one JSON line per tick to stdout, ``{"tick": seconds of lag, "leading": true}``; logs go to stderr.
SIGTERM and SIGINT end it within about a second, and so does the end of its parent: when
``HUBQUEUE_PARENT_FD`` names the read end of a pipe that the parent holds open, its EOF.
"""

import json
import os
import select
import signal
import sys
import threading

import django

GRACE = 1.0
PARENT = "HUBQUEUE_PARENT_FD"


class Reports:
    """Writes the lines. One that finds the pipe full is dropped: the loop never waits for its reader."""

    def __init__(self, descriptor: int, stop: threading.Event) -> None:
        self._descriptor = descriptor
        self._stop = stop
        self._leading = False

    def __call__(self, name: str, value: float) -> None:
        if name == "leading":
            self._leading = bool(value)
        elif name == "tick":
            self._write({"tick": round(value, 6), "leading": self._leading})

    def _write(self, line: dict[str, float | bool]) -> None:
        try:
            if select.select([], [self._descriptor], [], 0)[1]:
                os.write(self._descriptor, json.dumps(line).encode() + b"\n")
        except OSError:
            self._stop.set()


def main() -> None:
    """Run until told to end, then end, whatever is under way."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=_end_in_time, args=[stop], daemon=True).start()
    _follow_parent(stop)
    reports = _own_stdout(stop)
    django.setup()

    from hubqueue.lifecycle.database import alias
    from hubqueue.scheduler.loop import run
    from hubqueue.scheduler.sessions import harden

    harden(alias())
    run(stop, reports)
    _leave()


def _end_in_time(stop: threading.Event) -> None:
    stop.wait()
    threading.Event().wait(GRACE)
    _leave()


def _leave() -> None:
    """End without waiting for threads: what was cut off may still be in one."""
    sys.stderr.flush()
    os._exit(0)


def _follow_parent(stop: threading.Event) -> None:
    given = os.environ.pop(PARENT, "")
    if not given:
        return
    descriptor = int(given)

    def wait() -> None:
        try:
            while os.read(descriptor, 4096):
                pass
        except OSError:
            pass
        stop.set()

    threading.Thread(target=wait, daemon=True).start()


def _own_stdout(stop: threading.Event) -> Reports:
    """Keep stdout for the lines; what anybody prints goes to stderr."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    return Reports(descriptor, stop)


if __name__ == "__main__":
    main()
