"""A local target, which remembers what it was asked."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from backups.targets.local import LocalTarget


class Directory(LocalTarget):
    """``root`` is made when it is not there; ``asked`` are verbs and names, in order."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        super().__init__(str(root.parent), root.name)
        self.root = root
        self.asked: list[tuple[str, str]] = []

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        self.asked.append(("put", name))
        return super().put(name, pieces)

    def get(self, name: str) -> Iterator[bytes]:
        self.asked.append(("get", name))
        return super().get(name)

    def delete(self, name: str) -> None:
        self.asked.append(("delete", name))
        super().delete(name)
