"""What a child has in flight, in memory that it shares with its supervisor: there still when the child was killed.

A slot per started attempt, written right before its handler and cleared once it was settled. It costs no message,
and a death leaves nothing unread.
"""

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from struct import Struct
from tempfile import TemporaryFile
from uuid import UUID

SLOT = Struct("=?16sqd")  # whether it is taken, the job's id, its fence, its deadline
DEADLINE = Struct("=d")
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class InFlight:
    """A started attempt. ``deadline`` is on the machine's monotonic clock: past it the child is ended."""

    fence: int
    deadline: float


class Board:
    """``slots`` of them in the file with descriptor ``number``, which both sides map. One process writes, one reads."""

    def __init__(self, number: int, slots: int) -> None:
        self._memory = mmap(number, slots * SLOT.size)
        self._free = deque(range(0, slots * SLOT.size, SLOT.size))

    def put(self, job: UUID, fence: int, deadline: float) -> int | None:
        """Show a started attempt; answers its slot, None when all are taken: then it dies as if it had not begun."""
        try:
            slot = self._free.popleft()
        except IndexError:
            return None
        SLOT.pack_into(self._memory, slot, False, job.bytes, fence, deadline)
        self._memory[slot] = 1
        return slot

    def unbind(self, slot: int) -> None:
        """The handler has ended, and its settle is bounded otherwise."""
        DEADLINE.pack_into(self._memory, slot + SLOT.size - DEADLINE.size, NEVER)

    def clear(self, slot: int) -> None:
        """The attempt was settled."""
        self._memory[slot] = 0
        self._free.append(slot)

    def read(self) -> dict[UUID, InFlight]:
        """What is in flight. A slot that changes while it is read is left out: its attempt has just begun or ended."""
        once, again = self._memory[:], self._memory[:]
        if 1 not in once[:: SLOT.size]:
            return {}
        return {
            UUID(bytes=job): InFlight(fence, deadline)
            for at, (taken, job, fence, deadline) in _slots(once)
            if taken and once[at : at + SLOT.size] == again[at : at + SLOT.size]
        }


def _slots(memory: bytes) -> Iterator[tuple[int, tuple[bool, bytes, int, float]]]:
    for place, slot in enumerate(SLOT.iter_unpack(memory)):
        yield place * SLOT.size, slot


def open_board(slots: int) -> tuple[Board, int]:
    """A new board, and the descriptor by which a child maps it too. Close that once the child has it."""
    with TemporaryFile() as file:
        file.truncate(slots * SLOT.size)
        number = os.dup(file.fileno())
    return Board(number, slots), number
