"""A private PostgreSQL server that a test may stop, kill and start again."""

import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from random import SystemRandom
from typing import Literal, Self

import psycopg

from config.embedded import account, binaries, cluster, postmaster
from config.embedded.home import make_private
from tests.support.wait import until

SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}

PORTS = range(15_000, 32_000)  # where clients get theirs begins above


class Cluster:
    """A throw-away server in a temporary directory, gone with the block that made it.

    with Cluster() as postgres:
        connect(postgres.url())
        postgres.restart(mode="immediate")

    It listens on a Unix socket, and with `tcp=True` on a free port of 127.0.0.1 as well, the same
    one over restarts. `settings` are lines of postgresql.conf, as in `{"max_connections": "20"}`.
    """

    user = cluster.USER
    database = cluster.DATABASE

    def __init__(self, *, tcp: bool = False, settings: dict[str, str] | None = None) -> None:
        self.port = free_port() if tcp else postmaster.PORT
        self._tcp = tcp
        self._settings = settings or {}
        self._account = account.server_account()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # Not pytest's tmp_path: its parents are closed to other accounts, and its name is long.
        self.home = Path(tempfile.mkdtemp(prefix="hubqueue-test-", dir="/tmp"))
        self.home.chmod(0o755)
        self.programs = self._reachable(binaries.find())
        self.data = self.home / "data"
        self.sockets = self.home / "run"
        make_private(self.sockets, self._account)
        cluster.create(self.data, self.programs, self._account)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self.home, ignore_errors=True)

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        options = {
            "listen_addresses": "127.0.0.1" if self._tcp else "",
            "unix_socket_directories": str(self.sockets),
            "port": str(self.port),
            "max_connections": "50",
            "fsync": "off",
            **self._settings,
        }
        arguments = [part for key, value in options.items() for part in ("-c", f"{key}={value}")]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self.programs / "postgres"), "-D", str(self.data), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=account.environment(),
                **account.identity(self._account),
            )
        until(self._is_ready, message="the server's start")

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop the server and wait for its end; nothing happens when it does not run."""
        if self._process is None:
            return
        self._process.send_signal(SIGNALS[mode])
        self._process.wait(timeout=60)
        self._process = None

    def restart(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop and start."""
        self.stop(mode)
        self.start()

    def url(self, database: str | None = None, *, tcp: bool | None = None) -> str:
        """The `DATABASE_URL` of a database on it; over TCP when the server listens there."""
        name = database or self.database
        if self._tcp if tcp is None else tcp:
            return f"postgres://{self.user}@127.0.0.1:{self.port}/{name}"
        return f"postgres://{self.user}@/{name}?host={self.sockets}&port={self.port}"

    def execute(self, sql: str, database: str | None = None) -> list[tuple[object, ...]]:
        """Run one statement by itself and return its rows."""
        with psycopg.connect(self.url(database, tcp=False), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def create_database(self, name: str) -> str:
        """Make an empty database and return its URL."""
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def terminate_backends(self) -> int:
        """Cut every client's connection, as a failover does; return how many there were."""
        rows = self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return len(rows)

    def log(self) -> str:
        """What the server wrote."""
        return (self.home / "log").read_text(errors="replace")

    def _is_ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the server ended at its start:\n{self.log()[-2000:]}")
        return postmaster.is_ready(self.data, port=self.port)

    def _reachable(self, found: Path) -> Path:
        if self._account is None or self._account.can_run(found / "postgres"):
            return found
        return binaries.copy(found, self.home / "postgresql")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at the moment, and that the kernel gives to no client meanwhile."""
    while True:
        # Tests beside each other have the same seed, and shall not have the same port.
        port = SystemRandom().choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
