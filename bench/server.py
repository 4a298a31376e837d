"""The PostgreSQL that is measured on: a throw-away server with default durability, or the one that is named."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.support.postgres import Cluster

# fsync and synchronous_commit as PostgreSQL comes; the rest lets every system's pools in and fits a laptop.
SETTINGS = {
    "fsync": "on",
    "max_connections": "250",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "log_line_prefix": "%d ",
}
STATEMENT = re.compile(r"LOG:  (statement|execute [^:]+): ")


@dataclass(frozen=True, slots=True)
class Server:
    """``log`` is its log when it is ours to read."""

    url: str
    log: Path | None = None

    def fresh_database(self, name: str) -> str:
        """The URL of a new, empty database of this name; one that is there is dropped."""
        with psycopg.connect(self.url, autocommit=True) as admin:
            self._drop(admin, name)
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    def drop(self, name: str) -> None:
        """Drop a database with everyone in it."""
        with psycopg.connect(self.url, autocommit=True) as admin:
            self._drop(admin, name)

    def statements(self, database: str, *, since: int) -> int:
        """How many statements the server logged for a database after this offset of its log."""
        assert self.log is not None
        with self.log.open(errors="replace") as lines:
            lines.seek(since)
            ours = (line for line in lines if line.startswith(f"{database} "))
            return sum(bool(STATEMENT.search(line)) for line in ours)

    def _drop(self, admin: psycopg.Connection[tuple[object, ...]], name: str) -> None:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        admin.execute(drop.format(sql.Identifier(name)))


@contextmanager
def started() -> Iterator[Server]:
    """The server of `BENCH_DATABASE_URL`, or one that is gone with the block."""
    given = os.environ.get("BENCH_DATABASE_URL")
    if given:
        yield Server(given)
        return
    with Cluster(tcp=True, settings=SETTINGS) as cluster:
        yield Server(cluster.url("postgres"), cluster.home / "log")
