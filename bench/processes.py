"""What Linux tells about a tree of processes: memory and time."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree(roots: list[int]) -> list[int]:
    """These processes and all that they started and that are alive."""
    parents = {pid: int(fields[1]) for pid, fields in _all() if fields[0] != "Z"}
    members = [pid for pid in roots if pid in parents]
    for member in members:
        members += [pid for pid, parent in parents.items() if parent == member]
    return members


def cpu_seconds(pids: list[int]) -> float:
    """The time on a CPU that these have used, in seconds."""
    stats = [_stat(pid) for pid in pids]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats if fields) / TICKS


def resident_mib(pids: list[int]) -> float:
    """What these hold in memory, in MiB; shared pages count in each."""
    pages = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _all() -> Iterator[tuple[int, list[str]]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))):
            yield int(entry), fields


def _stat(pid: int) -> list[str]:
    """The fields after the command's name: state, parent, ..."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []
