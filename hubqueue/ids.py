"""Job ids: UUID version 7 (RFC 9562), made by the client, ordered by time."""

import os
import threading
import time
from uuid import UUID

_lock = threading.Lock()
_last = 0


def uuid7() -> UUID:
    """A new id. Ids of one process are strictly ascending, however fast they are made."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 bits of their fraction (RFC 9562, 6.2, method 3).
        ticks = time.time_ns() * 4096 // 1_000_000
        _last = ticks = max(ticks, _last + 1)
    high = (ticks >> 12) << 16 | 0x7000 | ticks & 0xFFF
    low = 0b10 << 62 | int.from_bytes(os.urandom(8)) >> 2
    return UUID(int=high << 64 | low)
