"""A directory of this machine that is only read: what is left when the installation is lost."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from backups.errors import ObjectMissing, TargetRefused, TargetUnreachable
from backups.targets.names import is_name
from backups.targets.store import Store, Stored

PIECE = 1024 * 1024


class ReadOnlyDirectory(Store):
    """The files below ``root``, by their path; symbolic links are not followed. ``put`` and ``delete`` refuse.

    What has no name of ours is not there.
    """

    def __init__(self, root: Path) -> None:
        """Raises ``TargetUnreachable`` when there is no such directory."""
        if not root.is_dir():
            raise TargetUnreachable("There is no such directory.")
        self._root = root.resolve()

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        raise TargetRefused("This directory is only read.")

    def get(self, name: str) -> Iterator[bytes]:
        path = self._file(name)
        try:
            with path.open("rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        except OSError as failed:
            raise TargetUnreachable(
                f"A file of the directory cannot be read ({failed.errno})."
            ) from None

    def list(self, prefix: str = "") -> Iterator[Stored]:
        try:
            files = [each for each in self._root.rglob("*") if self._is_file(each)]
            named = [(str(each.relative_to(self._root)), each) for each in files]
            found = [Stored(name, each.stat().st_size) for name, each in named if is_name(name)]
        except OSError as failed:
            raise TargetUnreachable(f"The directory cannot be read ({failed.errno}).") from None
        yield from sorted(
            (each for each in found if each.name.startswith(prefix)), key=lambda each: each.name
        )

    def size(self, name: str) -> int:
        return self._file(name).stat().st_size

    def delete(self, name: str) -> None:
        raise TargetRefused("This directory is only read.")

    def close(self) -> None:
        """There is nothing to end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _file(self, name: str) -> Path:
        if not is_name(name):
            raise ObjectMissing("There is no object of this name.")
        path = self._root / name
        inside = path.resolve() == path and path.is_relative_to(self._root)
        if not inside or not self._is_file(path):
            raise ObjectMissing("There is no object of this name.")
        return path

    def _is_file(self, path: Path) -> bool:
        return not path.is_symlink() and path.is_file()
