"""A target in a directory, as small as can be."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from backups.errors import ObjectMissing
from backups.targets.store import Store, Stored


class Directory(Store):
    """Objects are files; one that is being written has another name until it is whole."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[tuple[str, str]] = []

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        self.asked.append(("put", name))
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        try:
            with part.open("wb") as file:
                for piece in pieces:
                    file.write(piece)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
        return path.stat().st_size

    def get(self, name: str) -> Iterator[bytes]:
        self.asked.append(("get", name))
        try:
            file = (self.root / name).open("rb")
        except FileNotFoundError:
            raise ObjectMissing(f"There is no object {name}.") from None
        with file:
            while piece := file.read(50_000):
                yield piece

    def list(self, prefix: str = "") -> Iterator[Stored]:
        files = (each for each in self.root.rglob("*") if each.is_file())
        names = ((str(each.relative_to(self.root)), each.stat().st_size) for each in files)
        for name, size in sorted(names):
            if name.startswith(prefix) and not name.endswith(".part"):
                yield Stored(name, size)

    def size(self, name: str) -> int:
        try:
            return (self.root / name).stat().st_size
        except FileNotFoundError:
            raise ObjectMissing(f"There is no object {name}.") from None

    def delete(self, name: str) -> None:
        self.asked.append(("delete", name))
        (self.root / name).unlink(missing_ok=True)

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
