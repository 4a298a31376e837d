"""A server that speaks SFTP, by paramiko. Its host key is known beforehand."""

import errno
import hashlib
import io
import socket
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import paramiko

from backups.errors import (
    ObjectKept,
    ObjectMissing,
    TargetError,
    TargetFull,
    TargetRefused,
    TargetUnreachable,
)
from backups.targets.config import SftpConfig
from backups.targets.names import UNFINISHED, checked, is_part, unfinished
from backups.targets.open_target import OpenTarget
from backups.targets.store import Stored
from backups.targets.walking import Entry, walk

BLOCK = 32768
BLOCKS_AT_ONCE = 32
KEYS: tuple[type[paramiko.PKey], ...] = (
    paramiko.Ed25519Key,
    paramiko.ECDSAKey,
    paramiko.RSAKey,
)


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
        with _mapped():
            self._make(directory)
        try:
            with _mapped():
                made = self._sftp.open(temporary, "wb")
                made.set_pipelined(True)
            try:
                for piece in pieces:  # what these raise is theirs
                    with _mapped():
                        made.write(piece)
            finally:
                with _mapped():
                    made.close()
            with _mapped():
                size = int(self._sftp.stat(temporary).st_size or 0)
                self._rename(temporary, path)
        except BaseException:
            self._forget(temporary)
            raise
        return size

    def get(self, name: str) -> Iterator[bytes]:
        with _mapped():
            found = _quiet(self._sftp.open(self._at(checked(name)), "rb"))
        try:
            with _mapped():
                whole = int(found.stat().st_size or 0)
            # In windows: a prefetch of all of it would pile up behind a slow reader.
            for start in range(0, whole, BLOCK * BLOCKS_AT_ONCE):
                end = min(whole, start + BLOCK * BLOCKS_AT_ONCE)
                asked = [(at, min(BLOCK, end - at)) for at in range(start, end, BLOCK)]
                with _mapped():
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
        with _mapped():
            found = self._sftp.stat(self._at(checked(name)))
        if not stat.S_ISREG(found.st_mode or 0):
            raise ObjectMissing("there is no object of this name")
        return int(found.st_size or 0)

    def delete(self, name: str) -> None:
        path = self._at(checked(name))
        try:
            with _mapped(ObjectKept):
                self._sftp.remove(path)
        except ObjectMissing:
            return
        self._prune(name.rpartition("/")[0])

    def sweep(self, prefix: str) -> int:
        return self._sweep(checked(prefix))

    def close(self) -> None:
        self._transport.close()

    def _connect(self) -> None:
        with _mapped():
            where = (self._config.host, self._config.port)
            sock = socket.create_connection(where, self._timeout)
        # Closes the socket, too.
        self._transport = transport = paramiko.Transport(sock)
        transport.banner_timeout = transport.auth_timeout = self._timeout
        transport.channel_timeout = self._timeout
        try:
            with _mapped():
                self._want_key(transport)
                transport.start_client(timeout=self._timeout)
            self._check_key(transport.get_remote_server_key())
            with _mapped():
                self._log_in(transport)
                found = paramiko.SFTPClient.from_transport(transport)
            if found is None:
                raise TargetRefused("the server does not offer SFTP")
            self._sftp: Any = found
            channel = found.get_channel()
            if channel is not None:
                channel.settimeout(self._timeout)
        except BaseException:
            transport.close()
            raise

    def _want_key(self, transport: paramiko.Transport) -> None:
        """Of a server with several host keys, ask for the one that we know."""
        kind = self._config.host_key.partition(" ")[0]
        if kind.startswith("SHA256:"):
            return
        kinds = ["rsa-sha2-512", "rsa-sha2-256"] if kind == "ssh-rsa" else [kind]
        options = transport.get_security_options()
        options.key_types = [each for each in kinds if each in options.key_types]

    def _check_key(self, key: paramiko.PKey) -> None:
        given = key.asbytes()
        wanted = self._config.host_key
        if wanted.startswith("SHA256:"):
            shown = "SHA256:" + b64encode(hashlib.sha256(given).digest()).decode().rstrip("=")
            fits = shown == wanted.rstrip("=")
        else:
            try:
                fits = given == b64decode(wanted.split()[1])
            except ValueError:
                fits = False
        if not fits:
            raise TargetRefused(
                f"the server's host key ({key.get_name()}) is not the one of the configuration; nothing was"
                " sent to it"
            )

    def _log_in(self, transport: paramiko.Transport) -> None:
        if "PRIVATE KEY-----" in self._secret:
            transport.auth_publickey(self._config.user, _key_of(self._secret))
        else:
            transport.auth_password(self._config.user, self._secret)

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
                with _mapped():
                    self._sftp.remove(temporary)
            except ObjectMissing:
                return
            except TargetError:
                continue
            return

    def _entries(self, directory: str) -> Iterable[Entry]:
        try:
            with _mapped():
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

    def _sweep(self, directory: str) -> int:
        swept = 0
        for each in self._entries(directory):
            if each.directory and is_part(each.name):
                swept += self._sweep(f"{directory}/{each.name}")
            elif each.name.startswith(UNFINISHED):
                with _mapped(ObjectKept):
                    self._sftp.remove(self._at(f"{directory}/{each.name}"))
                swept += 1
        return swept


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


def _key_of(text: str) -> paramiko.PKey:
    for kind in KEYS:
        try:
            return kind.from_private_key(io.StringIO(text))
        except (paramiko.SSHException, ValueError, IndexError):
            continue
    raise TargetRefused("the private key cannot be read; expected one without a passphrase")


@contextmanager
def _mapped(refused: type[TargetError] = TargetRefused) -> Iterator[None]:
    """Errors of the library, of sockets and of the protocol as errors of a target."""
    try:
        yield
    except FileNotFoundError:
        raise ObjectMissing("there is no object of this name") from None
    except paramiko.AuthenticationException:
        raise TargetRefused("the user or the credential is not accepted") from None
    except (paramiko.SSHException, EOFError, TimeoutError, ConnectionError, socket.gaierror):
        raise TargetUnreachable("the server did not answer, or was cut off") from None
    except OSError as raised:
        raise _error(raised, refused) from None


def _error(raised: OSError, refused: type[TargetError]) -> TargetError:
    # The protocol has no code of its own for a full disk; servers say it in words.
    words = str(raised).lower()
    if "no space" in words or "quota" in words or raised.errno == errno.ENOSPC:
        return TargetFull("there is no room left at the target")
    if raised.errno == errno.EACCES or "permission" in words or "read only" in words:
        return refused("the server does not allow this")
    if words.startswith("socket is closed") or raised.errno is not None:
        return TargetUnreachable("the server did not answer, or was cut off")
    said = "the server did not do this, and said no more"
    return refused(said) if refused is ObjectKept else TargetError(said)
