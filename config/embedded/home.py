"""Where the embedded database lives."""

import hashlib
import os
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from config.embedded import binaries
from config.embedded.account import Account, server_account
from config.embedded.errors import EmbeddedDatabaseError

CHECKOUT = Path(__file__).resolve().parent.parent.parent
ELSEWHERE = Path("/var/tmp")  # noqa: S108 - the directory below is made by us and checked
LONGEST_SOCKET_DIRECTORY = 80  # the kernel's limit is 107 bytes with the socket's own name


@dataclass(frozen=True)
class Home:
    """The directories of one embedded database, and the account that runs its server."""

    path: Path
    account: Account | None = None
    moved_from: Path | None = None

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def start_lock(self) -> Path:
        """Held while a server is started or stopped."""
        return self.path / "lock"

    @property
    def users_lock(self) -> Path:
        """Shared by every process that uses the server."""
        return self.path / "users"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the living supervisor, whose process id is its content."""
        return self.path / "supervisor"

    @property
    def sockets(self) -> Path:
        """The directory of the server's socket: in the home, or in /tmp when that is too long."""
        inside = self.path / "run"
        if len(os.fsencode(inside)) <= LONGEST_SOCKET_DIRECTORY:
            return inside
        return Path("/tmp") / f"hubqueue-{os.geteuid()}-{_hash(self.path)}"  # noqa: S108

    @cached_property
    def binaries(self) -> Path:
        """PostgreSQL's programs, copied into the home when the account cannot run them."""
        found = binaries.find()
        if self.account is None or self.account.can_run(found / "postgres"):
            return found
        return binaries.copy(found, self.path / f"postgresql-{_hash(found)}")


def own_directory() -> Path:
    """The directory of this checkout for what it keeps to itself; made when missing.

    `HUBQUEUE_HOME` or `.hubqueue` in the checkout. Only its owner can look inside.
    """
    path = _configured()
    # The server's account must be able to pass through, and may not list.
    _make(path, 0o711 if os.geteuid() == 0 else 0o700)
    return path


def kept_directory(name: str) -> Path:
    """A directory in that of this checkout that only its owner can enter; made when missing."""
    path = own_directory() / name
    _make(path, 0o700)
    return path


def find() -> Home:
    """The home of this checkout's database, with its directory made.

    Run by root, the server belongs to another account. When that cannot reach the checkout, the
    home lies in `/var/tmp`, under a name made from the path it stands for.
    """
    path = own_directory()
    account = server_account()
    if account is None or account.can_enter(path):
        return Home(path, account)
    moved = ELSEWHERE / f"hubqueue-{_hash(path)}"
    _make(moved, 0o711)
    return Home(moved, account, moved_from=path)


def make_private(path: Path, account: Account | None) -> None:
    """Make a directory that only the server's account can enter; refuse somebody else's."""
    _make(path, 0o700, account)


def _configured() -> Path:
    named = os.environ.get("HUBQUEUE_HOME")
    return Path(named).absolute() if named else CHECKOUT / ".hubqueue"


def _make(path: Path, mode: int, account: Account | None = None) -> None:
    try:
        path.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        _refuse_a_strangers(path, account)
        return
    except OSError as error:
        raise EmbeddedDatabaseError(
            f"The embedded database needs a directory it may write to, got {path} "
            f"({error.strerror}); set HUBQUEUE_HOME to another one, or DATABASE_URL."
        ) from error
    if account is not None:
        os.chown(path, account.uid, account.gid)
    path.chmod(mode)


def _refuse_a_strangers(path: Path, account: Account | None) -> None:
    found = path.lstat() if path.parent in {ELSEWHERE, Path("/tmp")} else path.stat()  # noqa: S108
    owners = {os.geteuid()} | ({account.uid} if account else set())
    if stat.S_ISDIR(found.st_mode) and found.st_uid in owners:
        return
    raise EmbeddedDatabaseError(
        f"{path} must be a directory that belongs to this account (uid {os.geteuid()}), got "
        f"something of uid {found.st_uid}; set HUBQUEUE_HOME to another directory, or DATABASE_URL."
    )


def _hash(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
