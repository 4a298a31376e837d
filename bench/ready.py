"""A program's side of `bench/chorus.py`. Only the standard library: every peer's own Python imports this."""

import sys

READY = "ready"


def await_signal() -> None:
    """Say that this program is ready, and come back when all are."""
    print(READY, flush=True)
    sys.stdin.readline()
