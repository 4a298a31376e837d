"""The demo's child processes: started together, ended together, none left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
GRACE = 30.0
POLL = 0.1
LOOK = 1.0
GUARD = """
import os, signal, sys
sys.stdin.read()
try:
    os.kill(int(sys.argv[1]), signal.SIGTERM)
except ProcessLookupError:
    pass
"""


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


class Crew:
    """Child processes in groups of their own: a signal to the demo ends each of them in order."""

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._guards: list[subprocess.Popen[bytes]] = []
        self._before: dict[signal.Signals, object] = {}
        self._stopping = False

    def __enter__(self) -> "Crew":
        # Only noted: an exception out of nowhere could lose sight of a child that is being started.
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[each] = signal.signal(each, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        self._end()
        for each, handler in self._before.items():
            signal.signal(each, handler)  # type: ignore[arg-type]

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start ``manage.py command ...`` with this process's environment."""
        child = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *command],
            cwd=ROOT,
            env={**os.environ, "DJANGO_RUNSERVER_HIDE_WARNING": "true"},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._children.append(child)
        self._guards.append(_guard(child))
        return child

    def run(self, *command: str) -> int:
        """Start a command and answer its exit code, or 130 when a signal asked to end first."""
        child = self.start(*command)
        while child.poll() is None and not self._stopping:
            time.sleep(POLL)
        return 130 if self._stopping else child.wait()

    def wait(self, meanwhile: Callable[[], bool]) -> int:
        """Wait for a signal (answers 0), or until one of the children ends, which it should not (1).

        ``meanwhile`` is called about once a second, until it answers False.
        """
        looking, due = True, time.monotonic()
        while not self._stopping:
            if any(child.poll() is not None for child in self._children):
                return 1
            if looking and time.monotonic() >= due:
                looking, due = meanwhile(), time.monotonic() + LOOK
            time.sleep(POLL)
        return 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

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
        for guard in self._guards:
            guard.kill()
            guard.communicate()


def _guard(child: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """A small process that outlives a demo that is killed, and then ends the child: its pipe to us is closed."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", GUARD, str(child.pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def _send(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To the child while it lives; killing goes to its whole group, dead or not."""
    try:
        if number == signal.SIGKILL:
            os.killpg(child.pid, number)
        elif child.poll() is None:
            child.send_signal(number)
    except ProcessLookupError:
        pass
