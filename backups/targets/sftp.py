"""A server that speaks SFTP, by paramiko. Its host key is known beforehand."""

import stat
from collections.abc import Iterable, Iterator
from typing import Any

import paramiko

from backups.errors import ObjectKept, ObjectMissing, TargetError, TargetUnreachable
from backups.targets.config import SftpConfig
from backups.targets.names import checked, unfinished
from backups.targets.open_target import OpenTarget
from backups.targets.sftp_errors import mapped
from backups.targets.sftp_session import connect
from backups.targets.store import Stored
from backups.targets.walking import Entry, unfinished_below, walk

BLOCK = 32768
BLOCKS_AT_ONCE = 32


def opened(config: SftpConfig, secret: str, timeout: float, volume: str) -> OpenTarget:
    """Connects and logs in; ``secret`` is a password or a private key. Raises what ``SftpTarget`` does."""
    return SftpTarget(config, secret, timeout)


class SftpTarget(OpenTarget):
    """One session. Raises ``TargetRefused`` for another host key, before the secret is sent, and for the secret."""

    def __init__(self, config: SftpConfig, secret: str, timeout: float) -> None:
        self._config, self._secret, self._timeout = config, secret, timeout
        self._connect()

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        path = self._at(checked(name))
        directory = path.rpartition("/")[0]
        temporary = f"{directory}/{unfinished()}" if directory else unfinished()
        with mapped():
            self._make(directory)
        try:
            with mapped():
                made = self._sftp.open(temporary, "wb")
                made.set_pipelined(True)
            try:
                for piece in pieces:  # what these raise is theirs
                    with mapped():
                        made.write(piece)
            finally:
                with mapped():
                    made.close()
            with mapped():
                size = int(self._sftp.stat(temporary).st_size or 0)
                self._rename(temporary, path)
        except BaseException:
            self._forget(temporary)
            raise
        return size

    def get(self, name: str) -> Iterator[bytes]:
        with mapped():
            found = _quiet(self._sftp.open(self._at(checked(name)), "rb"))
        try:
            with mapped():
                whole = int(found.stat().st_size or 0)
            # In windows: a prefetch of all of it would pile up behind a slow reader.
            for start in range(0, whole, BLOCK * BLOCKS_AT_ONCE):
                end = min(whole, start + BLOCK * BLOCKS_AT_ONCE)
                asked = [(at, min(BLOCK, end - at)) for at in range(start, end, BLOCK)]
                with mapped():
                    piece = b"".join(found.readv(asked))
                if len(piece) != end - start:
                    raise TargetUnreachable("the object came shorter than the target says it is")
                yield piece
        finally:
            try:
                found.close()
            except (OSError, EOFError, paramiko.SSHException):
                pass  # with its connection

    def list(self, prefix: str = "") -> Iterator[Stored]:
        return walk(self._entries, prefix)

    def size(self, name: str) -> int:
        with mapped():
            found = self._sftp.stat(self._at(checked(name)))
        if not stat.S_ISREG(found.st_mode or 0):
            raise ObjectMissing("there is no object of this name")
        return int(found.st_size or 0)

    def delete(self, name: str) -> None:
        path = self._at(checked(name))
        try:
            with mapped(ObjectKept):
                self._sftp.remove(path)
        except ObjectMissing:
            return
        self._prune(name.rpartition("/")[0])

    def sweep(self, prefix: str) -> int:
        swept = 0
        for directory, last in unfinished_below(self._entries, checked(prefix)):
            with mapped(ObjectKept):
                self._sftp.remove(self._at(f"{directory}/{last}"))
            swept += 1
        return swept

    def close(self) -> None:
        self._transport.close()

    def _connect(self) -> None:
        self._transport, self._sftp = connect(self._config, self._secret, self._timeout)

    def _at(self, name: str) -> str:
        root = self._config.path.rstrip("/")
        return "/".join(filter(None, [root, name])) if root or name else "."

    def _make(self, directory: str) -> None:
        """Make a directory, and what is above it, unless it is there."""
        if not directory:
            return
        try:
            self._sftp.stat(directory)
        except FileNotFoundError:
            self._make(directory.rpartition("/")[0])
            self._sftp.mkdir(directory)

    def _rename(self, old: str, new: str) -> None:
        try:
            self._sftp.posix_rename(old, new)
        except OSError as raised:
            if raised.errno is not None or "upported" not in str(raised):
                raise
            self._sftp.rename(
                old, new
            )  # a server of the plain protocol refuses when `new` is there

    def _forget(self, temporary: str) -> None:
        """Delete what is not finished, over a new connection if the old one is gone."""
        for again in (False, True):
            try:
                if again:
                    self._transport.close()
                    self._connect()
                with mapped():
                    self._sftp.remove(temporary)
            except ObjectMissing:
                return
            except TargetError:
                continue
            return

    def _entries(self, directory: str) -> Iterable[Entry]:
        try:
            with mapped():
                found = self._sftp.listdir_attr(self._at(directory))
        except ObjectMissing:
            return []
        return [
            Entry(each.filename, stat.S_ISDIR(each.st_mode or 0), int(each.st_size or 0))
            for each in found
            if stat.S_ISDIR(each.st_mode or 0) or stat.S_ISREG(each.st_mode or 0)
        ]

    def _prune(self, directory: str) -> None:
        while directory:
            try:
                self._sftp.rmdir(self._at(directory))
            except (OSError, EOFError, paramiko.SSHException):
                return  # not empty
            directory = directory.rpartition("/")[0]


def _quiet(found: Any) -> Any:
    """Its thread that asks ahead would report a cut to nobody; whoever reads meets the cut anyway."""
    ask_ahead = found._prefetch_thread

    def asked(*given: Any) -> None:
        try:
            ask_ahead(*given)
        except (OSError, EOFError, paramiko.SSHException):
            pass

    found._prefetch_thread = asked
    return found
