"""Job ids: UUID version 7 (RFC 9562), made by the client, ordered by time."""

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def uuid7() -> UUID:
    """A new id. Ids of one process are strictly ascending, however fast they are made."""
    return uuid7s(1)[0]


def uuid7s(count: int) -> list[UUID]:
    """So many new ids, ascending."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 bits of their fraction (RFC 9562, 6.2, method 3).
        first = max(time.time_ns() * 4096 // 1_000_000, _last + 1)
        _last = first + count - 1
    random = os.urandom(8 * count)
    return [
        _uuid7(first + place, int.from_bytes(random[8 * place : 8 * place + 8]))
        for place in range(count)
    ]


def forget() -> None:
    """In a copy of a process: a thread that is not there may have held the lock."""
    global _lock
    _lock = threading.Lock()


def _uuid7(ticks: int, random: int) -> UUID:
    high = (ticks >> 12) << 16 | 0x7000 | ticks & 0xFFF
    return UUID(int=high << 64 | 0b10 << 62 | random >> 2)
