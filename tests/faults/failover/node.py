"""One PostgreSQL under Patroni: start it, look at its role, and make it vanish as a crashed machine does."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, SIGSTOP
from typing import Any
from urllib.request import urlopen

import psycopg

from config.embedded import account
from config.embedded.account import Account
from config.embedded.home import make_private
from tests.faults.failover.install import Programs
from tests.support.postgres import free_port
from tests.support.workers import family, is_alive, send

USER = "hubqueue"


class Node:
    """Patroni and the server it starts, in a directory of their own."""

    def __init__(
        self, name: str, home: Path, programs: Programs, owner: Account | None, etcd: str
    ) -> None:
        self.name = name
        self.home = home / name
        self.port = free_port()
        self._rest = free_port()
        self._programs = programs
        self._owner = owner
        self._process: subprocess.Popen[bytes] | None = None
        make_private(self.home, owner)
        self._settings = self.home / "patroni.json"
        self._settings.write_text(json.dumps(self._configuration(etcd), indent=2))
        self._settings.chmod(0o644)

    def start(self) -> None:
        """Start Patroni; it starts the server when the cluster's state says as what."""
        with (self.home.parent / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs.patroni), str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"PATH": f"{self._programs.postgres}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
                start_new_session=True,
                **account.identity(self._owner),
            )

    def vanish(self) -> None:
        """SIGKILL Patroni, the server and every backend at once: stopped first, so that nobody says goodbye."""
        gone: set[int] = set()
        while fresh := set(self._pids()) - gone:
            for pid in fresh:
                send(pid, SIGSTOP)
            gone |= fresh
        for pid in gone:
            send(pid, SIGKILL)
        if self._process is not None:
            self._process.wait(timeout=30)
            self._process = None

    def state(self) -> dict[str, Any]:
        """What its Patroni says: role, state, and where it is in the log; empty when it does not answer."""
        return self._ask("patroni")

    def members(self) -> list[dict[str, Any]]:
        """The nodes as its Patroni sees them, each with its role and state."""
        return list(self._ask("cluster").get("members", []))

    def standbys(self) -> set[str]:
        """Who its server waits for at each commit; empty when it does not answer."""
        with (
            suppress(psycopg.Error),
            psycopg.connect(
                host="127.0.0.1", port=self.port, user=USER, dbname="postgres", autocommit=True
            ) as session,
        ):
            rows = session.execute(
                "SELECT application_name FROM pg_stat_replication"
                " WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')"
            )
            return {name for (name,) in rows}
        return set()

    def _ask(self, page: str) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            with urlopen(f"http://127.0.0.1:{self._rest}/{page}", timeout=2) as answer:
                return dict(json.loads(answer.read()))
        return {}

    def _pids(self) -> list[int]:
        roots = [] if self._process is None else [self._process.pid]
        with suppress(OSError, ValueError, IndexError):
            roots.append(int((self.home / "data/postmaster.pid").read_text().split()[0]))
        found = {pid for root in roots for pid in family(root)}
        return [pid for pid in found if is_alive(pid)]

    def _configuration(self, etcd: str) -> dict[str, Any]:
        return {
            "scope": "hubqueue",
            "name": self.name,
            "restapi": {
                "listen": f"127.0.0.1:{self._rest}",
                "connect_address": f"127.0.0.1:{self._rest}",
            },
            "etcd3": {"hosts": etcd},
            "bootstrap": {"dcs": SHARED, "initdb": ["data-checksums", {"encoding": "UTF8"}]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.home / "data"),
                "bin_dir": str(self._programs.postgres),
                "pgpass": str(self.home / "pgpass"),
                "authentication": {
                    "superuser": {"username": USER},
                    "replication": {"username": "replicator"},
                    "rewind": {"username": USER},
                },
                "parameters": {"unix_socket_directories": str(self.home)},
                "pg_hba": [
                    "local all all trust",
                    "host all all 127.0.0.1/32 trust",
                    "host replication all 127.0.0.1/32 trust",
                ],
            },
        }


# What the cluster agrees on. Waits are the shortest that Patroni takes.
SHARED: dict[str, Any] = {
    "ttl": 20,
    "loop_wait": 2,
    "retry_timeout": 3,
    "maximum_lag_on_failover": 1048576,
    "synchronous_mode": True,
    "synchronous_mode_strict": True,
    "postgresql": {
        "use_pg_rewind": True,
        "use_slots": True,
        "parameters": {"max_connections": 100, "wal_log_hints": "on", "hot_standby": "on"},
    },
}
