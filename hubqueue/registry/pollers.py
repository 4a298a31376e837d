"""Self-repeating jobs that are watched over."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hubqueue.registry.handlers import Handler
from hubqueue.registry.known import registry


@dataclass(frozen=True, slots=True)
class Poller:
    """A self-repeating job under ``dedupe_key``. ``owes()`` answers the moment it must run, or None.

    A poller that owes a moment and has no unfinished job is enqueued again, and counted: it had died.
    """

    handler: Handler[[]]
    dedupe_key: str
    owes: Callable[[], datetime | None]


def poller(made: Handler[[]], *, dedupe_key: str, owes: Callable[[], datetime | None]) -> None:
    """Watch over a self-repeating job: see ``Poller``."""
    registry.pollers[dedupe_key] = Poller(made, dedupe_key, owes)
