"""Wait for something to become true, never for time to pass."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

INTERVAL = 0.02


def until(
    condition: Callable[[], T],
    *,
    timeout: float = 30,
    message: str = "",
    interval: float = INTERVAL,
) -> T:
    """Ask every ``interval`` seconds and return the first true answer; fail after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(
                f"{message or 'the condition'} did not come true within {timeout:g} s, "
                f"last answer {answer!r}"
            )
        time.sleep(interval)
