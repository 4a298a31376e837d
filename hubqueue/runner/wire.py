"""Lines between the supervisor and a child: one JSON object each, over a socket pair.

What a child wrote before it died stays readable, so the supervisor knows what was in flight at its death.
"""

import json
import socket
from threading import Lock
from typing import Any

Message = dict[str, Any]


class Wire:
    """One end. Sending is thread-safe and blocks; receiving never does."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._rest = b""
        self._sending = Lock()
        self.closed = False

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, message: Message) -> bool:
        """Send one message. False when nobody is at the other end."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            with self._sending:
                self._end.sendall(line)
        except OSError:
            return False
        return True

    def receive(self) -> list[Message]:
        """Every message that has arrived. Sets ``closed`` when the other end is gone."""
        while True:
            try:
                chunk = self._end.recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                chunk = b""
            if not chunk:
                self.closed = True
                break
            self._rest += chunk
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        self._end.close()
