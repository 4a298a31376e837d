"""Wait until there is something to read, and be woken from any thread or signal handler."""

import selectors
import socket
from contextlib import suppress
from typing import Protocol, TypeVar


class Stream(Protocol):
    """Anything that can be read, and says so by its descriptor."""

    def fileno(self) -> int: ...


S = TypeVar("S", bound=Stream)


class Wakeup:
    """For one waiting thread."""

    def __init__(self) -> None:
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)
        self._rung = False

    def wake(self) -> None:
        """End the wait, or the next one. Safe from any thread and from a signal handler."""
        if not self._rung:
            self._rung = True
            with suppress(OSError):
                self._waker.send(b".")

    def wait(self, seconds: float, *streams: S) -> list[S]:
        """Wait no longer than so many seconds; answers which streams can be read."""
        with (
            selectors.PollSelector() as selector
        ):  # of all kinds the one that costs no system call to make
            selector.register(self._woken, selectors.EVENT_READ)
            for stream in streams:
                selector.register(stream, selectors.EVENT_READ, stream)
            ready = selector.select(seconds)
        with suppress(BlockingIOError):
            self._woken.recv(4096)
        self._rung = False
        return [key.data for key, _ in ready if key.data is not None]
