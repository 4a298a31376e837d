"""The directory in which one supervisor's processes keep their metrics. It goes with its owner, sooner or later."""

import os
import tempfile
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from shutil import rmtree

PREFIX = "hubqueue-metrics-"
OWNER = "owner"


class Scratch:
    """A fresh directory. What owners that were killed left behind is swept first.

    A file in it is locked while its owner lives: the kernel lets go however that ends.
    """

    def __init__(self) -> None:
        sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock: int | None = _take(self.path / "draft", os.O_CREAT)
        # Only now can it be seen, and it is locked already.
        (self.path / "draft").rename(self.path / OWNER)

    def close(self) -> None:
        """Remove it. A second time does nothing: the descriptor may be somebody else's by then."""
        rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep(temporary: Path) -> None:
    """Remove the directories in ``temporary`` whose owner is gone. Those of other accounts are left alone."""
    for owner in temporary.glob(f"{PREFIX}*/{OWNER}"):
        with suppress(OSError):
            lock = _take(owner)
            rmtree(owner.parent, ignore_errors=True)
            os.close(lock)


def _take(path: Path, more: int = 0) -> int:
    lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | more, 0o600)
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock
