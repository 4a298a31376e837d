"""Moves tell, others listen. Every signal is sent after the commit that made it true.

Receivers get plain values (no payload, no message): kind, queue, state, code, seconds, count. What happens to
many jobs in one commit is told by one signal.
"""

from uuid import UUID

import msgspec
from django.dispatch import Signal


class Pickup(msgspec.Struct, frozen=True):
    """A job that was claimed. ``waited`` = seconds between the moment it was due and its claim."""

    kind: str
    queue: str
    tenant: str | None
    waited: float


class Ending(msgspec.Struct, frozen=True):
    """An attempt that ended: the state its job is in now, the move that brought it there, the failure's code or "",
    and the seconds since its claim."""

    id: UUID
    kind: str
    queue: str
    state: str
    outcome: str
    code: str
    seconds: float
    attempt: int


job_enqueued = Signal()  # kind, queue, outcome, count (requests of one call with this outcome)
jobs_claimed = Signal()  # pickups: list[Pickup]
jobs_settled = Signal()  # endings: list[Ending]
job_rescued = Signal()  # job_id, kind, queue, cause, spent
lease_lost = Signal()  # kind
verb_done = Signal()  # verb, target, actor
worker_changed = Signal()  # worker, event (started, ended, killed, recycled)
scheduler_ticked = Signal()  # lag (seconds), leading
duty_ended = Signal()  # duty, code ("" = well), seconds
poller_reseeded = Signal()  # kind, queue
tick_fired = Signal()  # schedule, kind, queue, late (seconds)
