"""The intake of a child whose threads never begin: what it claims stays RUNNING."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from hubqueue.lifecycle.claim import Lane
from hubqueue.registry import registry
from hubqueue.runner.hands import Batch, Hands
from hubqueue.runner.intake import Intake


def intake_of(
    worker: UUID,
    *lanes: Lane,
    threads: int = 4,
    hands: Hands | None = None,
    beside: Sequence[Batch] = (),
    strayed: Callable[[], None] = list,
) -> Intake:
    """``beside``: what runs in the child on its event loop. To be dismissed when it has claimed twice at once."""
    return Intake(
        worker,
        list(lanes),
        registry,
        hands or no_hands(),
        beside=lambda: beside,
        strayed=strayed,
        threads=threads,
        using="default",
    )


def no_hands() -> Hands:
    """No threads at all, which take batches like any."""
    nobody: Any = SimpleNamespace(jobs={})
    return Hands(0, using="default", flight=nobody, freed=nobody)
