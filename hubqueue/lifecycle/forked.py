"""A copy of a process shares no session with it: a web server may load the application, use it, and then fork.

Over a shared session each of the two would get answers to what the other one asked.
"""

import os
from typing import Any

from django.db import connections

from hubqueue import ids
from hubqueue.lifecycle import orphans, ring

# Never finished: their end would be said to the server over the socket that is the other process's.
_of_another: list[Any] = []
_watching: list[bool] = []


def watch_forks() -> None:
    """From now on a copy of this process begins without connections. Once is enough."""
    if not _watching:
        _watching.append(True)
        os.register_at_fork(after_in_child=_leave_behind)


def _leave_behind() -> None:
    ids.forget()
    ring.forget()
    orphans.forget()
    for connection in connections.all(initialized_only=True):
        pools = getattr(type(connection), "_connection_pools", {})
        _of_another.append(pools.pop(connection.alias, None))
        _part_with(connection.connection)
        connection.connection = None
        connection.in_atomic_block = False
        connection.savepoint_ids = []
        connection.needs_rollback = False
        connection.run_on_commit = []


def _part_with(held: Any) -> None:
    """Point our end of the socket at nothing; the other process's stays as it is."""
    if held is None or getattr(held, "closed", True):
        return
    _of_another.append(held)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, held.fileno())
    os.close(null)
