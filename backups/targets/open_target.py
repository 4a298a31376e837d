"""What the adapters share."""

from abc import abstractmethod
from types import TracebackType
from typing import Self

from backups.targets.store import Store

PIECE = 1024 * 1024


class OpenTarget(Store):
    """A target that is open, for ``with`` too. Every method raises ``NameRefused`` for what is no name."""

    @abstractmethod
    def sweep(self, prefix: str) -> int:
        """Delete what puts that died left in the directory ``prefix`` and below; answers how many.

        Only for a directory that nobody writes to.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
