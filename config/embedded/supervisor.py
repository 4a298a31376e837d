"""The process that owns the server: starts it, watches its users, stops it after the last.

Plain standard library, in a session of its own: `python -m config.embedded.supervisor ORDER`,
where ORDER is JSON. It answers one line on stdout, `ready` or `failed REASON`, and goes on alone.
"""

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from config.embedded import locks
from config.embedded.owned import OwnedServer

INTERVAL = 0.25


@dataclass(frozen=True, slots=True)
class Order:
    """What to supervise. `linger` is how many seconds the server outlives its last user."""

    home: str
    sockets: str
    program: str
    linger: float
    uid: int | None = None
    gid: int | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def main(order: Order) -> None:
    """Detach, start or adopt the server, tell the starter, and stay until nobody uses it."""
    _detach()
    supervisor = Supervisor(order)
    try:
        supervisor.start()
    except (OSError, TimeoutError) as error:
        sys.stdout.write(f"failed {error}\n")
        return
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    _let_go_of_the_starter(Path(order.home) / "log")
    supervisor.watch()


class Supervisor:
    """One server and the locks that tell who uses it."""

    def __init__(self, order: Order) -> None:
        self._home = Path(order.home)
        self._linger = order.linger
        self._told_to_stop = False
        self._server = OwnedServer(
            order.program, self._home, order.sockets, uid=order.uid, gid=order.gid
        )

    def start(self) -> None:
        """Take the supervisor's place, then have a server. Raises what `OwnedServer.start` does."""
        own = locks.open_lock(self._home / "supervisor")
        locks.take(own)
        os.ftruncate(own, 0)
        os.pwrite(own, f"{os.getpid()}\n".encode(), 0)
        signal.signal(signal.SIGTERM, self._remember_to_stop)
        self._server.start()

    def watch(self) -> None:
        """Return when the server is gone, or was stopped because nobody used it for a while."""
        idle_since: float | None = None
        while self._server.is_running():
            if self._told_to_stop:
                self._server.stop()
            elif not self._is_unused():
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since >= self._linger:
                self._stop_if_unused()
            time.sleep(INTERVAL)

    def _remember_to_stop(self, *_: object) -> None:
        self._told_to_stop = True

    def _is_unused(self) -> bool:
        users = locks.open_lock(self._home / "users")
        try:
            return locks.take(users, wait=False)
        finally:
            os.close(users)

    def _stop_if_unused(self) -> None:
        """Stop under both locks, so that a user who comes meanwhile waits and starts it anew."""
        start = locks.open_lock(self._home / "lock")
        users = locks.open_lock(self._home / "users")
        try:
            if locks.take(start, wait=False) and locks.take(users, wait=False):
                self._server.stop()
        finally:
            os.close(users)
            os.close(start)


def _detach() -> None:
    """Leave the starter's session and family: no signal of its terminal, no child to wait for."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir("/")


def _let_go_of_the_starter(log: Path) -> None:
    """Close the pipe that carried the answer."""
    with log.open("ab") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())


if __name__ == "__main__":
    main(Order(**json.loads(sys.argv[1])))
