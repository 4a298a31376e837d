"""A directory of this machine, below the volume for backups. No symbolic link is followed."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from backups.errors import (
    ConfigRefused,
    ObjectKept,
    ObjectMissing,
    TargetError,
    TargetFull,
    TargetRefused,
    TargetUnreachable,
)
from backups.targets.config import LocalConfig
from backups.targets.names import checked, unfinished
from backups.targets.open_target import PIECE, OpenTarget
from backups.targets.store import Stored
from backups.targets.walking import Entry, unfinished_below, walk

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS}
LINK = {errno.ELOOP, errno.ENOTDIR}


def opened(config: LocalConfig, secret: str, timeout: float, volume: str) -> OpenTarget:
    """Raises ``ConfigRefused`` without a volume, ``TargetUnreachable`` when it is not there."""
    if not volume:
        raise ConfigRefused("local targets need BACKUPS_VOLUME, the directory that they lie in")
    return LocalTarget(volume, config.path)


class LocalTarget(OpenTarget):
    """Works from the volume's own descriptor, one directory after the other: no name leads out of it."""

    def __init__(self, volume: str, path: str) -> None:
        self._path = checked(path)
        with _mapped():
            try:
                self._volume = os.open(volume, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                raise TargetUnreachable("the directory BACKUPS_VOLUME is not there") from None

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        directory, last = self._split(name)
        with self._directory(directory, make=True) as there:
            temporary = unfinished()
            try:
                with _mapped():
                    made = os.open(
                        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=there
                    )
                try:
                    for piece in pieces:  # what these raise is theirs
                        with _mapped():
                            _write(made, piece)
                    with _mapped():
                        os.fsync(made)
                        size = os.fstat(made).st_size
                finally:
                    os.close(made)
                with _mapped():
                    os.rename(temporary, last, src_dir_fd=there, dst_dir_fd=there)
                    os.fsync(there)
            except BaseException:
                try:
                    os.unlink(temporary, dir_fd=there)
                except OSError:
                    pass  # not made, or gone with its directory
                raise
        return size

    def get(self, name: str) -> Iterator[bytes]:
        with self._file(name) as opened_file:
            left = os.fstat(opened_file).st_size
            while True:
                with _mapped():
                    piece = os.read(opened_file, PIECE)
                if not piece:
                    break
                left -= len(piece)
                yield piece
        if left > 0:
            raise TargetUnreachable("the object became shorter while it was read")

    def list(self, prefix: str = "") -> Iterator[Stored]:
        return walk(self._entries, prefix)

    def size(self, name: str) -> int:
        with self._file(name) as opened_file:
            return os.fstat(opened_file).st_size

    def delete(self, name: str) -> None:
        directory, last = self._split(name)
        try:
            with self._directory(directory) as there, _mapped(ObjectKept):
                os.unlink(last, dir_fd=there)
        except ObjectMissing:
            return
        self._prune(directory)

    def sweep(self, prefix: str) -> int:
        swept = 0
        for directory, last in unfinished_below(self._entries, checked(prefix)):
            with self._directory(directory) as there, _mapped(ObjectKept):
                os.unlink(last, dir_fd=there)
            swept += 1
        return swept

    def close(self) -> None:
        if self._volume >= 0:
            os.close(self._volume)
            self._volume = -1

    def _split(self, name: str) -> tuple[str, str]:
        directory, _, last = checked(name).rpartition("/")
        return directory, last

    @contextmanager
    def _directory(self, directory: str, *, make: bool = False) -> Iterator[int]:
        at = os.dup(self._volume)
        try:
            for part in [*self._path.split("/"), *filter(None, directory.split("/"))]:
                with _mapped():
                    if make:
                        try:
                            os.mkdir(part, 0o700, dir_fd=at)
                        except FileExistsError:
                            pass
                    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)

    @contextmanager
    def _file(self, name: str) -> Iterator[int]:
        directory, last = self._split(name)
        with self._directory(directory) as there:
            with _mapped():
                # A pipe would make whoever opens it wait.
                found = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=there)
            try:
                if not stat.S_ISREG(os.fstat(found).st_mode):
                    raise ObjectMissing("there is no object of this name")
                yield found
            finally:
                os.close(found)

    def _entries(self, directory: str) -> Iterable[Entry]:
        try:
            with self._directory(directory) as there, _mapped(), os.scandir(there) as found:
                return [
                    Entry(each.name, True, 0)
                    if each.is_dir(follow_symlinks=False)
                    else Entry(each.name, False, each.stat(follow_symlinks=False).st_size)
                    for each in found
                    if not each.is_symlink()
                ]
        except ObjectMissing:
            return []

    def _prune(self, directory: str) -> None:
        while directory:
            above, _, last = directory.rpartition("/")
            try:
                with self._directory(above) as there:
                    os.rmdir(last, dir_fd=there)
            except (OSError, TargetError):
                return  # not empty
            directory = above


def _write(made: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(made, rest) :]


@contextmanager
def _mapped(refused: type[TargetError] = TargetRefused) -> Iterator[None]:
    """Errors of the system as errors of a target."""
    try:
        yield
    except FileNotFoundError:
        raise ObjectMissing("there is no object of this name") from None
    except OSError as raised:
        raise _error(raised.errno or 0, refused) from None


def _error(number: int, refused: type[TargetError]) -> TargetError:
    if number in FULL:
        return TargetFull("there is no room left in the directory for backups")
    if number in REFUSED:
        return refused("the directory for backups does not allow this")
    if number in LINK:
        return TargetRefused(
            "a symbolic link or a file is in the place of a directory or an object"
        )
    return TargetUnreachable(
        f"the directory for backups failed ({errno.errorcode.get(number, number)})"
    )
