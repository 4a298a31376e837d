"""Who runs the server: whoever we are, and never root, which PostgreSQL refuses."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.embedded.errors import EmbeddedDatabaseError


@dataclass(frozen=True, slots=True)
class Account:
    """An existing account without rights. None are created and no directory is opened for it."""

    name: str
    uid: int
    gid: int

    def can_enter(self, directory: Path) -> bool:
        """Whether the account can pass through the directory and all above it."""
        return run(["/bin/sh", "-c", 'test -x "$1/."', "sh", str(directory)], self).returncode == 0

    def can_run(self, program: Path) -> bool:
        """Whether the account can start the program with its libraries."""
        try:
            return run([str(program), "--version"], self).returncode == 0
        except PermissionError:
            return False


def server_account() -> Account | None:
    """The account to run the server as, None for our own."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedDatabaseError(
        "The embedded database cannot run as root: expected an account named postgres or nobody, "
        "got neither; set DATABASE_URL or run as an ordinary user."
    )


def identity(account: Account | None) -> dict[str, Any]:
    """The arguments of `subprocess` that make the program run as this account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


def run(
    command: list[str], account: Account | None, *, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end as `account`, in a clean environment, with both outputs caught."""
    return subprocess.run(
        command,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=environment(),
        input=given or "",
        **identity(account),
    )


def environment() -> dict[str, str]:
    """The environment of the server's programs: nothing that would point them elsewhere."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_"))}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}
