"""Start children: fresh interpreters, never forks of a process that has a connection or a thread."""

import json
import os
import socket
import subprocess
import sys
from uuid import UUID

from hubqueue.ids import uuid7
from hubqueue.registry import registry
from hubqueue.runner.board import open_board
from hubqueue.runner.crew import Child
from hubqueue.runner.options import Options
from hubqueue.runner.payer import MOST
from hubqueue.runner.scratch import Scratch
from hubqueue.runner.wire import Wire


class Spawner:
    """Starts workers, solo workers and the scheduler for one supervisor."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._scratch = Scratch()
        self.metrics_dir = self._scratch.path

    def worker(self, number: int) -> Child:
        """The regular child in place ``number``."""
        return self._child(number, "worker", self._options.caps_of(number))

    def solo(self) -> Child:
        """A child that runs suspects, one at a time."""
        return self._child(None, "solo", dict.fromkeys(self._options.caps, 1))

    def scheduler(self) -> Child:
        """The scheduler: what it prints are its ages, what it reads tells it that we live."""
        ours, theirs = socket.socketpair()
        popen = subprocess.Popen(
            [sys.executable, "-m", "hubqueue.scheduler"],
            stdin=subprocess.DEVNULL,
            stdout=theirs.fileno(),
            pass_fds=[theirs.fileno()],
            env=self._environment() | {"HUBQUEUE_PARENT_FD": str(theirs.fileno())},
        )
        theirs.close()
        return Child(uuid7(), None, "scheduler", popen, Wire(ours))

    def close(self) -> None:
        self._scratch.close()

    def _child(self, number: int | None, role: str, caps: dict[str, int]) -> Child:
        worker: UUID = uuid7()
        ours, theirs = socket.socketpair()
        slots = self._slots()
        board, number_of_board = open_board(slots)
        given = {
            "worker": str(worker),
            "wire": theirs.fileno(),
            "board": number_of_board,
            "slots": slots,
            "caps": caps,
            "threads": self._options.threads,
            "async_jobs": self._options.async_jobs,
            "solo": role == "solo",
            "max_jobs": self._options.max_jobs,
            "max_memory": self._options.max_memory,
        }
        popen = subprocess.Popen(
            [sys.executable, "-m", "hubqueue.runner.child", json.dumps(given)],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno(), number_of_board],
            env=self._environment(),
        )
        theirs.close()
        os.close(number_of_board)
        return Child(worker, number, role, popen, Wire(ours), board)

    def _slots(self) -> int:
        """Room for all that may be in flight, and for what has ended and waits for its settle."""
        largest = max((each.group for each in registry.handlers.values()), default=1)
        return self._options.threads * largest + self._options.async_jobs + 4 * MOST

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PROMETHEUS_MULTIPROC_DIR": str(self.metrics_dir),
        }
