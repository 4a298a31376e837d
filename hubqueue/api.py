"""The front door: what an application imports to write and enqueue background work."""

from hubqueue.errors import LeaseLost, MoveRefused, PayloadRefused, StopRequested
from hubqueue.lifecycle.connections import dedicated_connection
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.enqueue import Enqueued, Outcome
from hubqueue.policy import Backoff
from hubqueue.registry import (
    Cadence,
    Handler,
    Item,
    Missed,
    duty,
    handler,
    periodic,
    poller,
)
from hubqueue.results import Dead, Done, Park, Repeat, Result, Retry

__all__ = [
    "Backoff",
    "Cadence",
    "Dead",
    "Done",
    "Enqueued",
    "Handler",
    "Item",
    "JobContext",
    "LeaseLost",
    "Missed",
    "MoveRefused",
    "Outcome",
    "Park",
    "PayloadRefused",
    "Repeat",
    "Result",
    "Retry",
    "StopRequested",
    "dedicated_connection",
    "duty",
    "handler",
    "periodic",
    "poller",
]
