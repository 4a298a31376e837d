"""Embedded databases of these tests' own, each in a home that goes with the test."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded import postmaster
from tests.conftest import CHECKOUT
from tests.support.wait import until


class Sandbox:
    """A home of its own, programs that use its database, and the processes behind it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = {
            **{key: value for key, value in os.environ.items() if key != "DATABASE_URL"},
            "HUBQUEUE_HOME": str(path),
            "HUBQUEUE_LINGER": "0.5",
            "PYTHONPATH": str(CHECKOUT),
        }

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments to its end."""
        return subprocess.run(
            [sys.executable, *command],
            env=self.env | env,
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )

    def use(self) -> "User":
        """A process that connected through Django and stays until its stdin closes."""
        return User(self)

    def server(self) -> postmaster.Postmaster | None:
        """The living server of this home."""
        return postmaster.living(self.path / "data")

    def supervisor(self) -> int:
        """The process id in the supervisor's file."""
        return int((self.path / "supervisor").read_text())


USER = """
import sys
from django.conf import settings
settings.configure(DATABASES={"default": {"ENGINE": "config.embedded", "NAME": "hubqueue"}})
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_postmaster_start_time()")
    print(cursor.fetchone()[0].isoformat(), flush=True)
for line in sys.stdin:
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time()")
        print(cursor.fetchone()[0].isoformat(), flush=True)
"""


class User:
    """A process with a connection to the embedded database."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER],
            env=sandbox.env,
            cwd=CHECKOUT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def answer(self) -> str:
        """When the server it is connected to was started; empty when it failed."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def reconnect(self) -> str:
        """Close its connection, open another, and answer."""
        assert self.process.stdin is not None
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        return self.answer()

    def leave(self) -> None:
        """End it; what it still said on stderr is kept in `said`."""
        self.said = self.process.communicate(timeout=30)[1]


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A fresh home that the server's account can reach; its server is gone afterwards."""
    parent = Path(tempfile.mkdtemp(prefix="hq-", dir="/tmp"))
    parent.chmod(0o755)
    box = Sandbox(parent / "home")
    yield box
    server = box.server()
    if server is not None:
        until(lambda: not server.is_alive(), message="the end of the sandbox's server")
    shutil.rmtree(parent, ignore_errors=True)
