"""The log of started jobs. Only the standard library: every peer's own Python imports this."""

import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

VARIABLE = "BENCH_STARTS"
RECORD = struct.Struct("<dqi")

_log: int | None = None


class Start(NamedTuple):
    """``at`` is seconds on the machine's monotonic clock, ``number`` the job's, ``pid`` of the process that ran it."""

    at: float
    number: int
    pid: int


def note(number: int) -> None:
    """Say that a job's body has begun: one append of 20 bytes, which is what every system pays."""
    global _log
    if _log is None:
        _log = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(_log, RECORD.pack(time.monotonic(), number, os.getpid()))


def read(log: Path) -> list[Start]:
    """Every start in the log, oldest first. A record that is being written is left out."""
    content = log.read_bytes()
    whole = len(content) - len(content) % RECORD.size
    return sorted(Start(*each) for each in RECORD.iter_unpack(content[:whole]))


def rate(log: Sequence[Start]) -> float:
    """Starts per second from the first to the last of these; a batch may start in one tick of the clock."""
    return (len(log) - 1) / max(log[-1].at - log[0].at, 1e-6)


def count(log: Path) -> int:
    """How many bodies have begun."""
    return log.stat().st_size // RECORD.size
