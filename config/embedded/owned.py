"""The server process as its supervisor sees it: launched or adopted, running, stopped.

Plain standard library: the supervisor imports this without Django.
"""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from config.embedded import postmaster
from config.embedded.postmaster import Postmaster

START_WITHIN = 60
STOP_STEPS = ((signal.SIGINT, 30), (signal.SIGQUIT, 10), (signal.SIGKILL, 10))
GOES_AWAY = ("still in use", "already exists")  # what a killed server's processes leave for a while


class OwnedServer:
    """One server on one data directory, run as `uid` and `gid` when these are given."""

    def __init__(
        self, program: str, home: Path, sockets: str, *, uid: int | None, gid: int | None
    ) -> None:
        self._program = program
        self._data = home / "data"
        self._log = home / "log"
        self._sockets = sockets
        self._uid = uid
        self._gid = gid
        self._child: subprocess.Popen[bytes] | None = None
        self._found: Postmaster | None = None

    def start(self) -> None:
        """Adopt a server that runs without a supervisor, or launch one; return when it is ready.

        Raises `OSError` when it refuses to start, `TimeoutError` after a minute.
        """
        deadline = time.monotonic() + START_WITHIN
        while not self._is_up():
            if time.monotonic() > deadline:
                raise TimeoutError(f"it was not ready within {START_WITHIN} s")
            time.sleep(0.02)

    def is_running(self) -> bool:
        """Whether its process exists."""
        if self._child is not None:
            return self._child.poll() is None
        return self._found is not None and self._found.is_alive()

    def stop(self) -> None:
        """End it: politely, and with more force when that takes too long."""
        for number, patience in STOP_STEPS:
            self._signal(number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline:
                if not self.is_running():
                    return
                time.sleep(0.02)

    def _is_up(self) -> bool:
        """One step of the start; what is found is adopted, what is missing is launched."""
        found = postmaster.living(self._data)
        if found is not None:
            self._found = found
        elif self._child is None or self._child.poll() is not None:
            self._launch(postmaster.read(self._data))
        return self._found is not None and postmaster.is_ready(self._data)

    def _launch(self, stale: Postmaster | None) -> None:
        if self._child is not None:
            self._refuse_a_hopeless_start()
        if stale is not None and stale.is_alive():
            # Its number went to another program, which PostgreSQL would take for a rival.
            (self._data / "postmaster.pid").unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                [self._program, "-D", str(self._data), *self._options()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                user=self._uid,
                group=self._gid,
                extra_groups=[] if self._uid is not None else None,
            )

    def _options(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self._sockets}"',
            "unix_socket_permissions": "0700",
            "port": str(postmaster.PORT),
            "max_connections": "200",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]

    def _refuse_a_hopeless_start(self) -> None:
        said = self._log.read_text(errors="replace").splitlines()[-20:]
        fatal = [line.partition("FATAL:")[2].strip() for line in said if "FATAL:" in line]
        if fatal and not any(reason in fatal[-1] for reason in GOES_AWAY):
            raise OSError(fatal[-1])
        time.sleep(0.2)

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None:
            self._child.send_signal(number)
        elif self._found is not None:
            with suppress(ProcessLookupError):
                os.kill(self._found.pid, number)
