"""A system under measurement, hubqueue or a peer: its database, its client and its workers."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import psycopg

from bench import installs, starts
from bench.errors import Broken, Skipped
from bench.server import Server

LOOK_EVERY = 0.005


class System:
    """Raises ``Skipped`` when it cannot be installed. Use ``reset`` before and ``close`` after everything."""

    def __init__(self, name: str, server: Server) -> None:
        self.name = name
        self.server = server
        self.command = installs.command(name)
        self.database = f"hubqueue_bench_{name.replace('-', '_')}"
        self.url = server.fresh_database(self.database)
        logs = installs.HOME / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        self.starts_log = logs / f"{name}-{os.getpid()}.starts"
        self.said = (logs / f"{name}.log").open("w+")
        self.environment = installs.environment(name) | {
            "BENCH_DSN": self.url,
            starts.VARIABLE: str(self.starts_log.resolve()),
        }
        self.workers: list[subprocess.Popen[bytes]] = []
        self.db = psycopg.connect(self.url, autocommit=True)
        self.db.execute("CREATE TABLE effect (number bigint PRIMARY KEY)")
        self.facts: dict[str, Any] = self.ask("setup")

    def close(self) -> None:
        """End its workers and drop its database."""
        self.kill()
        self.db.close()
        self.said.close()
        self.starts_log.unlink(missing_ok=True)
        self.server.drop(self.database)

    # The client.

    def ask(self, operation: str, **given: Any) -> Any:
        """The answer of one operation of ``bench/agent.py``, run in a process of its own."""
        arguments = [*self.command, operation, json.dumps(given)]
        done = subprocess.run(
            arguments, env=self.environment, stdout=subprocess.PIPE, stderr=self.said, check=False
        )
        if done.returncode != 0:
            raise Broken(f"{operation} failed: see {self.said.name}")
        return json.loads(done.stdout.splitlines()[-1])

    def kind(self, kind: str) -> str:
        """The kind as this system has it: a peer has no group commit, its effect is the nearest thing."""
        if kind in self.facts["kinds"]:
            return kind
        if self.name == "hubqueue":
            raise Skipped(
                f"hubqueue has no handler for {kind} yet: @handler takes no option group="
            )
        return kind.split("_")[0]

    def load(self, kind: str, count: int, *, first: int = 1) -> None:
        """Enqueue jobs by the fastest call there is."""
        self.ask("load", kind=self.kind(kind), first=first, count=count)

    def clone(self, count: int, column_sets: Mapping[str, str], *, as_: str = "noop") -> None:
        """Add ``count`` rows like those of an enqueued job by plain SQL; ``column_sets`` are SQL over row number g."""
        self.ask("enqueue", kind=as_, first=0, count=1)
        shape = self.facts["clone"]
        table, wanted = shape["table"], {**shape.get("set", {}), **column_sets}
        names = self.db.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = '' AND attname <> ALL (%s)",
            [table, shape.get("skip", [])],
        ).fetchall()
        columns = ", ".join(f'"{name}"' for (name,) in names)
        values = ", ".join(wanted.get(name, f'model."{name}"') for (name,) in names)
        newest = f"SELECT ctid::text FROM {table} ORDER BY {shape['newest']} DESC LIMIT 1"
        model = self._one(newest)
        with self.db.transaction():
            with suppress(psycopg.errors.InsufficientPrivilege), self.db.transaction():
                self.db.execute("SET LOCAL session_replication_role = replica")
            rows = (
                f"generate_series(1, {count}) AS g, {table} AS model WHERE model.ctid = '{model}'"
            )
            self.db.execute(f"INSERT INTO {table} ({columns}) SELECT {values} FROM {rows}".encode())
            self.db.execute(f"DELETE FROM {table} WHERE ctid = '{model}'".encode())

    # The database.

    def reset(self) -> None:
        """No workers, no jobs, no log, and a checkpoint just behind."""
        self.kill()
        tables = ", ".join([*self.facts["tables"], "effect"])
        self.db.execute(f"TRUNCATE {tables} CASCADE")
        self.starts_log.write_bytes(b"")
        with suppress(psycopg.errors.InsufficientPrivilege):
            self.db.execute("CHECKPOINT")

    def analyze(self) -> None:
        """What autovacuum would have done by the time a table has grown so large."""
        for table in self.facts["tables"]:
            self.db.execute(f"VACUUM (ANALYZE) {table}")

    def unfinished(self) -> int:
        """Jobs whose end is not stored yet."""
        return int(self._one(self.facts["unfinished"]))

    def effects(self) -> int:
        """How many effects are stored."""
        return int(self._one("SELECT count(*) FROM effect"))

    def written(self) -> tuple[float, int]:
        """Bytes of WAL of the server, and transactions of this database, so far."""
        row = self.db.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), xact_commit + xact_rollback"
            " FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
        assert row is not None
        return float(row[0]), int(row[1])

    # The workers.

    def start(
        self, processes: int = 1, concurrency: int | None = None, *, whole: bool = False
    ) -> None:
        """Start a worker of so many processes; ``whole`` = with its scheduler, as it comes."""
        together = self.facts.get("grows", False)
        given = {"concurrency": concurrency, "processes": processes if together else 1}
        for _ in range(1 if together else processes):
            started = subprocess.Popen(
                [*self.command, "worker", json.dumps(given)],
                env=self.environment | ({"BENCH_WHOLE": "1"} if whole else {}),
                stdin=subprocess.DEVNULL,
                stdout=self.said,
                stderr=self.said,
                start_new_session=True,
            )
            self.workers.append(started)

    def kill(self) -> None:
        """SIGKILL the workers, each with the processes that it started, and wait for their sessions' end."""
        for worker in self.workers:
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        self.workers = []
        self.await_none(OTHERS, 30, "the end of the killed workers' sessions")

    def starts(self) -> Sequence[starts.Start]:
        """The bodies that began since the last reset, oldest first."""
        return starts.read(self.starts_log)

    def await_starts(self, count: int, within: float) -> None:
        """Wait until so many bodies have begun."""
        wanted = f"{count} jobs to start"
        self._until(lambda: starts.count(self.starts_log) >= count, within, wanted)

    def await_end(self, within: float) -> None:
        """Wait until the end of every job is stored."""
        self._until(lambda: self.unfinished() == 0, within, "the end of every job to be stored")

    def await_none(self, query: str, within: float, wanted: str) -> None:
        """Wait until a counting query answers 0."""
        self._until(lambda: self._one(query) == 0, within, wanted)

    def _until(self, reached: Callable[[], bool], within: float, wanted: str) -> None:
        horizon = time.monotonic() + within
        while not reached():
            if self.workers and all(worker.poll() is not None for worker in self.workers):
                raise Broken(f"waited for {wanted}, but every worker ended: see {self.said.name}")
            if time.monotonic() > horizon:
                raise Broken(f"waited {within:g} s for {wanted} in vain: see {self.said.name}")
            time.sleep(LOOK_EVERY)

    def _one(self, query: str) -> Any:
        row = self.db.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]


OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name <> 'bench-observer'"
)
