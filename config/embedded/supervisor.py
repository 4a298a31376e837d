"""The process that owns the server: starts it, watches its users, stops it after the last.

Plain standard library, in a session of its own: `python -m config.embedded.supervisor ORDER`,
where ORDER is JSON. It answers one line on stdout, `ready` or `failed REASON`, and goes on alone.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from config.embedded import locks, postmaster
from config.embedded.postmaster import Postmaster

INTERVAL = 0.25
START_WITHIN = 60
STOP_STEPS = ((signal.SIGINT, 30), (signal.SIGQUIT, 10), (signal.SIGKILL, 10))


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
        print(f"failed {error}", flush=True)
        return
    print("ready", flush=True)
    _let_go_of_the_starter(Path(order.home) / "log")
    supervisor.watch()


class Supervisor:
    """One server and the locks that tell who uses it."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._home = Path(order.home)
        self._data = self._home / "data"
        self._child: subprocess.Popen[bytes] | None = None
        self._server: Postmaster | None = None
        self._told_to_stop = False

    def start(self) -> None:
        """Take the supervisor's place, then adopt a server without one, or start a new one.

        Raises `OSError` or `TimeoutError` when there is none in the end.
        """
        self._lock = locks.open_lock(self._home / "supervisor")
        locks.take(self._lock)
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        signal.signal(signal.SIGTERM, self._remember_to_stop)
        deadline = time.monotonic() + START_WITHIN
        while not self._is_up():
            if time.monotonic() > deadline:
                raise TimeoutError(f"it was not ready within {START_WITHIN} s, see {self._log}")

    def watch(self) -> None:
        """Return when the server is gone, or was stopped because nobody used it for a while."""
        idle_since: float | None = None
        while self._is_running():
            if self._told_to_stop:
                return self._stop()
            if not self._is_unused():
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since >= self._order.linger and self._stop_if_unused():
                return None
            time.sleep(INTERVAL)
        return None

    @property
    def _log(self) -> Path:
        return self._home / "log"

    def _remember_to_stop(self, *_: object) -> None:
        self._told_to_stop = True

    def _is_up(self) -> bool:
        """One step of the start; what is found is adopted, what is missing is started."""
        found = postmaster.read(self._data)
        if found is not None and found.is_alive() and postmaster.belongs_to(found, self._data):
            self._server = found
        elif self._child is None or self._child.poll() is not None:
            self._launch(found)
        if self._server is not None and postmaster.is_ready(self._data):
            return True
        time.sleep(0.02)
        return False

    def _launch(self, stale: Postmaster | None) -> None:
        if self._child is not None:
            self._refuse_a_hopeless_start()
        if stale is not None and stale.is_alive():
            # Its number went to another program, which PostgreSQL would take for a rival.
            (self._data / "postmaster.pid").unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                [self._order.program, "-D", str(self._data), *self._options()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                user=self._order.uid,
                group=self._order.gid,
                extra_groups=[] if self._order.uid is not None else None,
            )

    def _refuse_a_hopeless_start(self) -> None:
        """What the processes of a killed server still hold goes away by itself: try again."""
        said = self._log.read_text(errors="replace").splitlines()[-20:]
        fatal = [line for line in said if "FATAL" in line]
        if fatal and "still in use" not in fatal[-1] and "already exists" not in fatal[-1]:
            raise OSError(fatal[-1].partition("FATAL:")[2].strip())
        time.sleep(0.2)

    def _options(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self._order.sockets}"',
            "unix_socket_permissions": "0700",
            "port": str(postmaster.PORT),
            "max_connections": "200",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]

    def _is_running(self) -> bool:
        if self._child is not None:
            return self._child.poll() is None
        return self._server is not None and self._server.is_alive()

    def _is_unused(self) -> bool:
        users = locks.open_lock(self._home / "users")
        try:
            return locks.take(users, wait=False)
        finally:
            os.close(users)

    def _stop_if_unused(self) -> bool:
        """Stop under both locks, so that a user who comes meanwhile waits and starts it anew."""
        start = locks.open_lock(self._home / "lock")
        users = locks.open_lock(self._home / "users")
        try:
            if not (locks.take(start, wait=False) and locks.take(users, wait=False)):
                return False
            self._stop()
        finally:
            os.close(users)
            os.close(start)
        return True

    def _stop(self) -> None:
        for number, patience in STOP_STEPS:
            self._signal(number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline:
                if not self._is_running():
                    return
                time.sleep(0.02)

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None:
            self._child.send_signal(number)
        elif self._server is not None:
            with suppress(ProcessLookupError):
                os.kill(self._server.pid, number)


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
