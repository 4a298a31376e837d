"""What the SFTP library and protocol say, as errors of a target."""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import paramiko

from backups.errors import (
    ObjectKept,
    ObjectMissing,
    TargetError,
    TargetFull,
    TargetRefused,
    TargetUnreachable,
)


@contextmanager
def mapped(refused: type[TargetError] = TargetRefused) -> Iterator[None]:
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
