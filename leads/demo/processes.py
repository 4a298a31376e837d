"""The demo's child processes: started together, ended together, none left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType, TracebackType

ROOT = Path(__file__).resolve().parent.parent.parent
GRACE = 30.0


class PortTaken(Exception):
    """The port of the web server is in use."""


def require_free(port: int) -> None:
    """Raise ``PortTaken`` unless a server could listen on this port of 127.0.0.1."""
    if not 0 < port < 65536:
        raise PortTaken(f"--port takes a number from 1 to 65535, got {port}.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as refused:
            raise PortTaken(
                f"Port {port} of 127.0.0.1 cannot be used ({refused.strerror}):"
                " end what listens there or choose another with --port."
            ) from None


class _Stop(BaseException):
    """A signal asked the demo to end."""


class Crew:
    """Child processes in groups of their own: a signal to the demo ends each of them in order."""

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> "Crew":
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[each] = signal.signal(each, _raise_stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        for each in self._before:
            signal.signal(each, signal.SIG_IGN)
        self._end()
        for each, handler in self._before.items():
            signal.signal(each, handler)  # type: ignore[arg-type]
        return kind is not None and issubclass(kind, _Stop)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start ``manage.py command ...`` with this process's environment."""
        child = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._children.append(child)
        return child

    def run(self, *command: str) -> int:
        """Start a command and answer its exit code."""
        return self.start(*command).wait()

    def wait(self) -> int:
        """Wait until one of the children ends, which it should not; answers 1 then."""
        while all(child.poll() is None for child in self._children):
            time.sleep(0.2)
        return 1

    def _end(self) -> None:
        """SIGTERM to each, patience for all, then SIGKILL to what is left of their groups."""
        for child in self._children:
            _send(child, signal.SIGTERM)
        until = time.monotonic() + GRACE
        for child in self._children:
            try:
                child.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            _send(child, signal.SIGKILL)
            child.wait()


def _send(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To the child while it lives; killing goes to its whole group, dead or not."""
    try:
        if number == signal.SIGKILL:
            os.killpg(child.pid, number)
        elif child.poll() is None:
            child.send_signal(number)
    except ProcessLookupError:
        pass


def _raise_stop(number: int, frame: FrameType | None) -> None:
    raise _Stop
