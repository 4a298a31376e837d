"""The end of an exchange, from outside: a peer that drips bytes meets it too."""

import socket
import threading
from types import TracebackType
from typing import Any

AGAIN = 0.1


class Deadline:
    """Cuts the connection's socket once the time is over, again and again until the block is left.

    Again, because a connection that is only being made has no socket yet.
    """

    def __init__(self, seconds: float, connection: Any) -> None:
        self.passed = False
        self._seconds = seconds
        self._connection = connection
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._wait, name="outbound-deadline", daemon=True)

    def __enter__(self) -> "Deadline":
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()

    def _wait(self) -> None:
        wait = self._seconds
        while not self._over.wait(wait):
            self.passed = True
            self._cut()
            wait = AGAIN

    def _cut(self) -> None:
        sock = getattr(self._connection, "sock", None)
        if sock is not None:
            try:
                # Not TLS's own, which takes the session away from under whoever is reading.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass  # gone already
