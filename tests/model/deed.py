"""A step: what it asks of the engine, and what the contract says comes of it."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from tests.model.book import Book, New
from tests.model.moments import Span

T = TypeVar("T")


class Deed(Protocol):
    """Something done to the queue through its public functions."""

    def do(self) -> Any:
        """Do it, over this thread's connection. Answers what the engine answers, a refusal included."""

    def told(self, book: Book, answer: Any, now: Span, new: New) -> None:
        """Fail unless ``answer`` is what the contract says, and write what must have come of it into ``book``.

        ``now`` holds the moment of the step; ``new`` reads the rows that the book does not have, for their ids.
        """


class Recipe(Protocol):
    """A step before anything is known of the rows. ``pick`` chooses among them."""

    def deed(self, book: Book, pick: int) -> Deed | None:
        """The step on these rows; None where there is nothing to do it to."""


def pick_from(choices: Sequence[T], pick: int) -> T | None:
    """One of the choices, the newest for 0."""
    return choices[-1 - pick % len(choices)] if choices else None
