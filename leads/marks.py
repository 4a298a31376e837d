"""Where a walk may start: numbers of transactions, and how to tell those of another cluster.

A restored dump brings numbers along that its new cluster has not reached yet, or passed long ago. Two
things keep that harmless. A mark counts only if the transaction that wrote its row here is no older than
the number it holds: one that came by a restore from a cluster that was ahead never is. And registrations
stamped with numbers that no transaction here has reached are stamped anew before the walk.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db import connections, router

from leads.models import Registration

_CYCLE = 2**32

# What this transaction has written itself may be newer than the newest completed one.
_HORIZON = """greatest(
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
    coalesce(pg_current_xact_id_if_assigned()::text::bigint + 1, 0))"""

_BEYOND = f"""
SELECT id FROM leads_registration
WHERE event_id = %(event)s AND active AND state IN ('open', 'done') AND changed_xid >= {_HORIZON}
"""

_NOW = f"""
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, {_HORIZON}, EXISTS ({_BEYOND})
"""

# The trigger of the table puts the number of this transaction in the place of the 0.
_RESTAMP = f"""
UPDATE leads_registration SET changed_xid = 0 WHERE id IN (
    {_BEYOND} ORDER BY changed_xid, id LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED)
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A complete walk of a rule under the conditions of ``fingerprint`` that saw all older than ``seen``."""

    rule_id: UUID
    fingerprint: str
    seen: int


@dataclass(frozen=True, slots=True)
class Clock:
    """The server's count of transactions when a walk begins.

    ``oldest``: all that are older have ended and can be seen. ``horizon``: no row here was written by a
    transaction of this number or a later one. ``strange``: the event has registrations that say so.
    """

    oldest: int
    horizon: int
    strange: bool

    def believes(self, seen: int, written: int) -> bool:
        """Whether a mark of this number was made here; ``written`` is the ``xmin`` of its row."""
        return seen <= whole_number(written, self.horizon)


def read_clock(event_id: UUID) -> Clock:
    """One statement, with one probe of the walk's index."""
    with connections[_alias()].cursor() as cursor:
        cursor.execute(_NOW, {"event": event_id})
        return Clock(*cursor.fetchone())


def restamp(event_id: UUID, limit: int) -> int:
    """Stamp up to ``limit`` registrations of another cluster's future; how many there were.

    One statement, its own transaction unless one is open. Rows that somebody holds are left alone: they
    are stamped when that transaction writes them, or by the next walk.
    """
    with connections[_alias()].cursor() as cursor:
        cursor.execute(_RESTAMP, {"event": event_id, "limit": limit})
        return int(cursor.rowcount)


def whole_number(short: int, near: int) -> int:
    """The 64-bit number of a transaction of which a row keeps 32 bits: the one nearest to ``near``."""
    return near + (short - near + _CYCLE // 2) % _CYCLE - _CYCLE // 2


def _alias() -> str:
    return router.db_for_write(Registration)
