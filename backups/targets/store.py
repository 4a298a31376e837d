"""What every adapter of a target can do. Names are relative: parts of letters, digits, ``.``, ``_`` and ``-``."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """An object at a target: its name below the target's root and its size in bytes."""

    name: str
    size: int


class Store(ABC):
    """An open target. Used by one thread; ``close`` ends its connections. All raise ``TargetError`` subclasses."""

    @abstractmethod
    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        """Store an object, streamed, and answer its size in bytes as the target reports it afterwards.

        The object appears under its name when it is whole, or not at all: what fails in between, or a raising
        ``pieces``, leaves nothing under that name (and what stood there stands). Memory stays constant.
        """

    @abstractmethod
    def get(self, name: str) -> Iterator[bytes]:
        """Read an object, streamed. Raises ``ObjectMissing``; one that is cut short raises ``TargetUnreachable``."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[Stored]:
        """The objects whose names begin with ``prefix``, by name. Unfinished ones are not among them."""

    @abstractmethod
    def size(self, name: str) -> int:
        """The size in bytes. Raises ``ObjectMissing``."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete an object; one that is missing is deleted already. Raises ``ObjectKept``."""

    @abstractmethod
    def close(self) -> None:
        """End the connections."""
