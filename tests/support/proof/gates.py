"""Where handlers and tests meet: files in the directory ``PROOF_DIR``."""

import os
import time
from pathlib import Path

LOOK_EVERY = 0.01


def home() -> Path:
    """The directory of this test."""
    return Path(os.environ["PROOF_DIR"])


def say(name: str, line: str = "") -> None:
    """Append a line to a file, in one write: readers see whole lines, and a killed writer leaves what it wrote."""
    handle = os.open(home() / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, f"{line}\n".encode())
    finally:
        os.close(handle)


def has(name: str) -> bool:
    """Whether somebody said ``name``."""
    return (home() / name).exists()


def read(name: str) -> list[str]:
    """The words that were said there."""
    return (home() / name).read_text().split()


def wait_for(name: str) -> None:
    """Until somebody said ``name``. Bounded by the handler's timeout alone."""
    while not has(name):
        time.sleep(LOOK_EVERY)
