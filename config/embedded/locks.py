"""Advisory locks on files. The kernel drops them when their process dies, however it dies.

Plain standard library: the supervisor imports this without Django.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_lock(path: Path) -> int:
    """Open the lock's file. The descriptor is not inherited by programs this process starts."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def take(descriptor: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Lock the open file; False only when `wait` is off and somebody else holds it."""
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, mode if wait else mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def release(descriptor: int) -> None:
    """Let the lock go and keep the file open."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock alone for the length of a block, waiting for it as long as it takes."""
    descriptor = open_lock(path)
    try:
        take(descriptor)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether some process holds the lock alone right now."""
    descriptor = open_lock(path)
    try:
        return not take(descriptor, shared=True, wait=False)
    finally:
        os.close(descriptor)
