"""Start scheduler processes and listen to them."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import IO, Self

import psycopg

from hubqueue.scheduler.leadership import lock_key
from hubqueue.scheduler.sessions import APPLICATION
from tests.conftest import CHECKOUT
from tests.support.wait import until

HOLDER = """
    SELECT pid FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32 | objid::bigint) = %s
"""


class Scheduler:
    """One process: `with Scheduler(env) as one: until(one.leads)`. Its lines are read as they come."""

    def __init__(self, env: dict[str, str], *, tick: float = 1, **more: str) -> None:
        self.env = {
            **env,
            "DJANGO_SETTINGS_MODULE": "tests.scheduler.settings",
            "SCHEDULER_TICK": str(tick),
            **more,
        }
        self.lines: list[dict[str, float | bool]] = []

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hubqueue.scheduler"],
            env=self.env,
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._readers = [
            threading.Thread(target=_read, args=[stream, take], daemon=True)
            for stream, take in (
                (self.process.stdout, lambda line: self.lines.append(json.loads(line))),
                (self.process.stderr, self.said.append),
            )
        ]
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.send_signal(signal.SIGCONT)
        self.process.wait(10)
        for reader in self._readers:
            reader.join(10)
        if raised is not None:
            sys.stderr.write("".join(self.said))

    def leads(self) -> bool:
        """Whether its last line said so."""
        return bool(self.lines) and bool(self.lines[-1]["leading"])

    def follows(self) -> bool:
        """Whether its last line said that it does not lead."""
        return bool(self.lines) and not self.lines[-1]["leading"]

    def next_line(self, *, timeout: float = 30) -> dict[str, float | bool]:
        """Wait for a line later than those there are now."""
        count = len(self.lines)
        until(lambda: len(self.lines) > count, timeout=timeout, message="a tick")
        return self.lines[count]

    def has_said(self, words: str) -> bool:
        """Whether its log has these words."""
        return any(words in line for line in self.said)


def _read(stream: IO[str], take: Callable[[str], None]) -> None:
    with stream:
        for line in stream:
            take(line)


def holders(url: str) -> list[int]:
    """The sessions that hold the leader's lock: their pids in the server."""
    with psycopg.connect(url, autocommit=True) as own:
        return [pid for (pid,) in own.execute(HOLDER, [lock_key()])]


def sessions(url: str) -> list[int]:
    """The sessions of all schedulers."""
    with psycopg.connect(url, autocommit=True) as own:
        rows = own.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE application_name = %s AND datname = current_database()",
            [APPLICATION],
        )
        return [pid for (pid,) in rows]


def terminate(url: str, pids: list[int]) -> None:
    """End sessions, as an administrator or a failover does."""
    with psycopg.connect(url, autocommit=True) as own:
        own.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [pids])


def migrate(env: dict[str, str]) -> None:
    """Bring a database of a test's own up to date."""
    subprocess.run(
        [sys.executable, "-m", "django", "migrate", "--skip-checks", "--verbosity=0"],
        env={**env, "DJANGO_SETTINGS_MODULE": "tests.scheduler.settings"},
        cwd=CHECKOUT,
        check=True,
    )
