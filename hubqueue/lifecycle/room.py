"""Telling a server that has no room from a statement that is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError

from hubqueue.errors import NoRoom

# Disk full, out of memory, a configured limit, an input or output that failed.
NO_ROOM = frozenset({"53000", "53100", "53200", "53400", "58030"})


@contextmanager
def room() -> Iterator[None]:
    """Around the engine's own writes: raises ``NoRoom`` when the server has no room for them."""
    try:
        yield
    except DatabaseError as raised:
        if lacks_room(raised):
            raise NoRoom("the database server has no room for the end of the attempt") from raised
        raise


def lacks_room(raised: DatabaseError) -> bool:
    """Whether the server refused for want of room, not for what it was asked."""
    return getattr(raised.__cause__, "sqlstate", None) in NO_ROOM
