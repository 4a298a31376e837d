"""Real ``manage.py runworker`` processes: start, look into, freeze, kill, and read what they said."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIGTERM, Signals
from uuid import UUID

from tests.support.wait import until

CHECKOUT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Child:
    """A worker child as its command line describes it."""

    pid: int
    worker: UUID
    solo: bool


class WorkerTree:
    """One supervisor and its children, in a process group of their own, logging to one file."""

    def __init__(self, arguments: list[str], *, env: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as sink:
            self.popen = subprocess.Popen(
                [sys.executable, "manage.py", "runworker", *arguments],
                cwd=CHECKOUT,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def said(self) -> str:
        """Everything that supervisor and children wrote."""
        return self._log.read_text(errors="replace")

    def children(self) -> list[Child]:
        """The worker children alive now, oldest first; the scheduler is none."""
        found = []
        for pid, parent in _processes():
            if parent == self.pid and (child := _as_child(pid)):
                found.append(child)
        return sorted(found, key=lambda child: child.worker)

    def regular(self) -> list[Child]:
        """The children that are no solos."""
        return [child for child in self.children() if not child.solo]

    def pids(self) -> list[int]:
        """The whole tree, the supervisor first."""
        return family(self.pid)

    def lasting(self) -> list[int]:
        """The same without the solos, which end when no suspect is left."""
        before, pids, after = self.children(), self.pids(), self.children()
        solos = {child.pid for child in [*before, *after] if child.solo}
        return [pid for pid in pids if pid not in solos]

    def freeze(self) -> list[int]:
        """SIGSTOP everybody, the supervisor first so that it starts nobody; answers who was stopped."""
        stopped: list[int] = []
        while fresh := [pid for pid in self.pids() if pid not in stopped]:
            for pid in fresh:
                send(pid, SIGSTOP)
            stopped += fresh
        for pid in stopped:
            until(lambda pid=pid: _state(pid) in "TtZ", message=f"the stop of {pid}")  # type: ignore[misc]
        return stopped

    def thaw(self, pids: list[int]) -> None:
        """SIGCONT those that ``freeze`` stopped."""
        for pid in reversed(pids):
            send(pid, SIGCONT)

    def signal(self, number: Signals) -> None:
        """To the supervisor alone."""
        send(self.pid, number)

    def signal_group(self, number: Signals) -> None:
        """To everybody at once, as a terminal or a container's end does."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def interrupt(self) -> int:
        """Two signals, which the kernel cannot merge into one; answers the exit status."""
        self.signal(SIGTERM)
        self.signal(SIGINT)
        return self.ended()

    def ended(self, *, within: float = 60) -> int:
        """Wait for the end; answers the exit status (negative = the signal that killed it)."""
        return self.popen.wait(timeout=within)

    def kill_tree(self) -> None:
        """SIGKILL everybody at once, and wait until they are gone."""
        members = self.freeze() if self.alive else self.pids()
        for pid in members:
            send(pid, SIGKILL)
        self.signal_group(SIGKILL)
        self.popen.wait(timeout=30)
        until(lambda: not any(is_alive(pid) for pid in members), message="the end of the tree")


def family(root: int) -> list[int]:
    """A process and everybody below it, parents before their children."""
    found = [root]
    parents = list(_processes())
    for member in found:
        found += [pid for pid, parent in parents if parent == member]
    return found


def send(pid: int, number: Signals) -> bool:
    """Send a signal; False when nobody is there any more."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    return _state(pid) not in ("", "Z", "X")


def is_stopped(pid: int) -> bool:
    """Whether SIGSTOP has taken effect."""
    return _state(pid) in ("T", "t")


def zombies_of(parent: int) -> list[int]:
    """Children of a process that ended and that nobody has waited for."""
    return [pid for pid, above in _processes() if above == parent and _state(pid) == "Z"]


def _processes() -> Iterator[tuple[int, int]]:
    """Every process as (pid, parent)."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))):
            yield int(entry), int(fields[1])


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _state(pid: int) -> str:
    fields = _stat(pid)
    return fields[0] if fields else ""


def _as_child(pid: int) -> Child | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if "hubqueue.runner.child" not in words or _state(pid) in ("Z", "X"):
        return None
    given = json.loads(words[words.index("hubqueue.runner.child") + 1])
    return Child(pid, UUID(given["worker"]), given["solo"])
