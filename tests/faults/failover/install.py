"""The programs of the failover: Patroni in a virtualenv of its own, etcd from PATH or from Debian's package."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from config.embedded import binaries
from config.embedded.account import Account

PATRONI = ["patroni[etcd3]>=4,<5", "psycopg[binary]>=3.2,<4"]

# Ours may live where the server's account may not enter.
PYTHONS = (sys.executable, "/usr/bin/python3")


@dataclass(frozen=True, slots=True)
class Programs:
    """Where things are: Patroni's interpreter and script, etcd, and the directory of PostgreSQL's programs."""

    python: Path
    patroni: Path
    etcd: Path
    postgres: Path


def install(home: Path, account: Account | None) -> Programs:
    """Find or fetch everything below ``home``; nothing of the machine is changed."""
    found = binaries.find()
    if account is not None and not account.can_run(found / "postgres"):
        found = binaries.copy(found, home / "postgresql")
    python = _patroni(home / "venv", account)
    return Programs(python, python.parent / "patroni", _etcd(home / "etcd"), found)


def _patroni(home: Path, account: Account | None) -> Path:
    python = home / "bin" / "python"
    if not (home / "bin" / "patroni").exists():
        base = next(each for each in PYTHONS if account is None or account.can_run(Path(each)))
        subprocess.run([base, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", *PATRONI], check=True)
    return python


def _etcd(home: Path) -> Path:
    """Out of the package without installing it: an installed one starts a service."""
    on_path = shutil.which("etcd")
    if on_path:
        return Path(on_path)
    program = home / "usr/bin/etcd"
    if not program.exists():
        home.mkdir(exist_ok=True)
        for command in (
            ["apt-get", "download", "-qq", "etcd-server"],
            ["sh", "-c", "dpkg -x etcd-server_*.deb ."],
        ):
            subprocess.run(command, cwd=home, check=True, stderr=subprocess.DEVNULL)
    return program
