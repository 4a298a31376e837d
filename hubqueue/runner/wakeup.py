"""Wait until there is something to read, and be woken from any thread or signal handler."""

import socket
from contextlib import suppress
from math import ceil
from select import POLLIN, poll
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

    def close(self) -> None:
        """No more waits. Waking does nothing from now on."""
        self._woken.close()
        self._waker.close()

    def wait(self, seconds: float, *streams: S) -> list[S]:
        """Wait no longer than so many seconds; answers which streams can be read."""
        readable = poll()
        readable.register(self._woken, POLLIN)
        for each in streams:
            readable.register(each, POLLIN)
        ready = {descriptor for descriptor, _ in readable.poll(ceil(seconds * 1000))}
        if self._woken.fileno() in ready:
            with suppress(BlockingIOError):
                self._woken.recv(4096)
        self._rung = False
        return [each for each in streams if each.fileno() in ready]
