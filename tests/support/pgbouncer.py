"""A real PgBouncer, in transaction mode unless told otherwise, in front of a database."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self
from urllib.parse import quote

from psycopg import conninfo

from tests.support.postgres import free_port
from tests.support.wait import until

PROGRAM = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"


def is_installed() -> bool:
    """Whether this machine has PgBouncer; tests that need it are skipped when not."""
    return os.access(PROGRAM, os.X_OK)


class PgBouncer:
    """with PgBouncer(cluster.url()) as bouncer: connect(bouncer.url())"""

    def __init__(
        self,
        target: str,
        *,
        pool_size: int = 20,
        max_clients: int = 200,
        mode: str = "transaction",
    ) -> None:
        self._target = conninfo.conninfo_to_dict(target)
        self._pool_size = pool_size
        self._max_clients = max_clients
        self._mode = mode
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def __enter__(self) -> Self:
        self.home = Path(tempfile.mkdtemp(prefix="hubqueue-bouncer-", dir="/tmp"))
        self.home.chmod(0o755)
        self._write()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAM, str(self.home / "pgbouncer.ini")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
            )
        until(self._accepts, message="PgBouncer's start")

    def stop(self) -> None:
        """End it at once, with all its connections."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=30)
            self._process = None

    def url(self) -> str:
        """The `DATABASE_URL` through the pooler, with `?pgbouncer=transaction`."""
        return f"{self.plain_url()}?pgbouncer=transaction"

    def plain_url(self) -> str:
        """The same for libpq, which does not know the parameter."""
        user = quote(str(self._target["user"]), safe="")
        return f"postgres://{user}@127.0.0.1:{self.port}/{self._target['dbname']}"

    def _write(self) -> None:
        names = ("host", "port", "dbname")
        target = " ".join(f"{each}={self._target[each]}" for each in names if each in self._target)
        lines = [
            "[databases]",
            f"{self._target['dbname']} = {target}",
            "[pgbouncer]",
            "listen_addr = 127.0.0.1",
            f"listen_port = {self.port}",
            "unix_socket_dir =",
            "auth_type = trust",
            f"auth_file = {self.home / 'users'}",
            f"pool_mode = {self._mode}",
            f"default_pool_size = {self._pool_size}",
            f"max_client_conn = {self._max_clients}",
            "ignore_startup_parameters = extra_float_digits,options,search_path",
        ]
        if os.geteuid() == 0:
            lines.append(f"user = {self._account()}")
        (self.home / "users").write_text(f'"{self._target["user"]}" ""\n')
        (self.home / "pgbouncer.ini").write_text("\n".join(lines) + "\n")

    def _account(self) -> str:
        """The owner of the target's socket directory, whom the server lets in."""
        host = Path(str(self._target.get("host", "")))
        if host.is_dir() and host.stat().st_uid != 0:
            return pwd.getpwuid(host.stat().st_uid).pw_name
        return "nobody"

    def _accepts(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            said = (self.home / "log").read_text(errors="replace")
            raise AssertionError(f"PgBouncer ended at its start:\n{said[-2000:]}")
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0
