"""Connections between two messages: kept for a while, each in the hands of one thread at a time."""

import atexit
import os
import threading
import time

from notifications.mail.connection import Connection
from notifications.mail_server import Server

IDLE_SECONDS = 5.0
OLDEST_SECONDS = 300.0
MOST_MESSAGES = 500


class Kept:
    """Free connections, the last used first, so that those beyond the need fall idle and are closed."""

    def __init__(self) -> None:
        self._begin()

    def take(self, server: Server) -> Connection | None:
        """A free connection to this server, or None."""
        with self._lock:
            while self._free:
                since, found = self._free.pop()
                if found.server == server and time.monotonic() - since < IDLE_SECONDS:
                    return found
                found.close()
        return None

    def give_back(self, connection: Connection) -> None:
        """Keep it, or close it when it is broken, old, or has carried much."""
        now = time.monotonic()
        worn = now - connection.born > OLDEST_SECONDS or connection.messages >= MOST_MESSAGES
        if worn or not connection.usable:
            connection.close()
            return
        with self._lock:
            self._free.append((now, connection))
            if not self._sweeping:
                self._sweep_later()

    def close_all(self) -> None:
        with self._lock:
            while self._free:
                self._free.pop()[1].close()

    def forget_all(self) -> None:
        """After a fork they are the parent's: not a word into them."""
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._free: list[tuple[float, Connection]] = []
        self._sweeping = False

    def _sweep_later(self) -> None:
        self._sweeping = True
        timer = threading.Timer(IDLE_SECONDS, self._sweep)
        timer.daemon = True
        timer.start()

    def _sweep(self) -> None:
        horizon = time.monotonic() - IDLE_SECONDS
        with self._lock:
            for since, idle in self._free:
                if since <= horizon:
                    idle.close()
            self._free = [each for each in self._free if each[0] > horizon]
            self._sweeping = False
            if self._free:
                self._sweep_later()


kept = Kept()
atexit.register(kept.close_all)
os.register_at_fork(after_in_child=kept.forget_all)
