"""A queue as a test sees it from outside: its rows over a plain connection, its gates, its workers."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.pq import ExecStatus
from psycopg.rows import dict_row

from hubqueue.ids import uuid7
from tests.support.wait import until
from tests.support.workers import CHECKOUT, WorkerTree

EFFECTS = (
    "CREATE TABLE IF NOT EXISTS proof_effect (name text PRIMARY KEY, at timestamptz DEFAULT now())"
)
PATIENT = 60.0
TUPLES_OK = ExecStatus.TUPLES_OK


class Hub:
    """Works on the database at ``url``; everything it started ends with ``close()``."""

    def __init__(self, url: str, home: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.home = home
        self.env = {
            **(env or os.environ),
            "DJANGO_SETTINGS_MODULE": "tests.support.settings",
            "DATABASE_URL": url,
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONUNBUFFERED": "1",
            "PROOF_DIR": str(home),
            "TMPDIR": str(home),
        }
        self.trees: list[WorkerTree] = []
        self._session: psycopg.Connection[Any] | None = None

    def close(self) -> None:
        """End every worker, and let go of the connection."""
        for tree in self.trees:
            tree.kill_tree()
        if self._session is not None:
            self._session.close()

    def start(
        self, *arguments: str, seconds: Mapping[str, float] | None = None, **env: str
    ) -> WorkerTree:
        """Start ``runworker``, without a scheduler unless ``--scheduler`` is given."""
        words = [word for word in arguments if word != "--scheduler"]
        if len(words) == len(arguments):
            words.append("--no-scheduler")
        given = {"HUBQUEUE_TEST_SECONDS": json.dumps(dict(seconds or {}))}
        log = self.home / f"worker-{len(self.trees) + 1}.log"
        tree = WorkerTree(words, env=self.env | given | env, log=log)
        self.trees.append(tree)
        return tree

    def manage(
        self, *arguments: str, within: float = 120, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a management command to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=CHECKOUT,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )

    def prepare(self) -> None:
        """Migrate a fresh database, and make the table of effects."""
        done = self.manage("migrate", "-v0")
        assert done.returncode == 0, done.stderr
        self.rows(EFFECTS)

    def ready(self, *arguments: str, **given: Any) -> WorkerTree:
        """Start, and wait until every regular child is registered."""
        tree = self.start(*arguments, **given)
        count = (
            int(arguments[arguments.index("--processes") + 1]) if "--processes" in arguments else 1
        )
        self.registered(tree, count)
        return tree

    def registered(self, tree: WorkerTree, count: int = 1) -> None:
        """Wait until ``count`` regular children are registered."""

        def present() -> bool:
            assert tree.alive, tree.said()
            known = {row["id"] for row in self.rows("SELECT id FROM hubqueue_worker")}
            return sum(child.worker in known for child in tree.regular()) >= count

        until(present, timeout=PATIENT, message="the workers' registration")

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run one statement by itself; a lost connection is replaced."""
        for _ in range(2):
            if self._session is None or self._session.closed:
                address = self.url.partition("?pgbouncer")[0]
                self._session = psycopg.connect(
                    address, autocommit=True, row_factory=dict_row, prepare_threshold=None
                )
            try:
                cursor = self._session.execute(statement.encode(), parameters)
                result = cursor.pgresult
                # SELECT FROM x has no column, and rows all the same.
                return cursor.fetchall() if result and result.status == TUPLES_OK else []
            except psycopg.OperationalError:
                self._session.close()
        raise AssertionError("the database did not answer the test")

    def put(
        self,
        kind: str,
        payloads: Sequence[dict[str, Any]],
        *,
        queue: str = "default",
        max_attempts: int = 5,
    ) -> list[UUID]:
        """Due jobs, as an enqueue leaves them."""
        ids = [uuid7() for _ in payloads]
        self.rows(
            """
            WITH put AS (
                INSERT INTO hubqueue_job (
                    id, kind, queue, priority, payload, state, run_at, attempts, max_attempts, fence, suspect, meta,
                    created_at
                )
                SELECT id, %s, %s, 0, payload::jsonb, 'READY', hubqueue_now(), 0, %s, 0, false, '{}', hubqueue_now()
                FROM unnest(%s::uuid[], %s::text[]) AS given (id, payload)
            )
            SELECT pg_notify('hubqueue:' || %s, '')
            """,
            [kind, queue, max_attempts, ids, [json.dumps(each) for each in payloads], queue],
        )
        return ids

    def job(self, job_id: UUID) -> dict[str, Any]:
        """The row of one job."""
        (row,) = self.rows("SELECT * FROM hubqueue_job WHERE id = %s", [job_id])
        return row

    def image(self, job_id: UUID) -> tuple[Any, ...]:
        """Everything the database says about one job: its row, its history, and all effects."""
        return self.job(job_id), self.failures(job_id), self.effects()

    def states(self) -> Counter[str]:
        """How many jobs stand where."""
        rows = self.rows("SELECT state, count(*) AS count FROM hubqueue_job GROUP BY state")
        return Counter({row["state"]: row["count"] for row in rows})

    def effects(self) -> list[str]:
        """The names of the effects, sorted."""
        return [row["name"] for row in self.rows("SELECT name FROM proof_effect ORDER BY name")]

    def failures(self, job_id: UUID) -> list[tuple[int, bool, str]]:
        """The history of one job: (attempt, spent, code), oldest first."""
        rows = self.rows(
            "SELECT attempt, spent, code FROM hubqueue_failure WHERE job_id = %s ORDER BY id",
            [job_id],
        )
        return [(row["attempt"], row["spent"], row["code"]) for row in rows]

    def reaches(self, job_id: UUID, state: str, *, within: float = PATIENT) -> dict[str, Any]:
        """Wait until the job stands in ``state``; answers its row."""

        def stands() -> dict[str, Any] | None:
            row = self.job(job_id)
            return row if row["state"] == state else None

        found = until(stands, timeout=within, message=f"{state} of {self.job(job_id)}")
        assert found is not None
        return found

    def all_reach(self, state: str, *, within: float = PATIENT) -> None:
        """Wait until every job stands in ``state``."""
        until(lambda: set(self.states()) == {state}, timeout=within, message=f"{state} of all jobs")

    def said(self, name: str, *, within: float = PATIENT) -> list[str]:
        """Wait until a handler said ``name``; answers the words of its last line."""
        path = self.home / name

        def lines() -> list[str]:
            return path.read_text().splitlines() if path.exists() else []

        return until(lines, timeout=within, message=f"the handler's {name}")[-1].split()

    def said_anew(
        self, name: str, fences: Collection[str], *, within: float = PATIENT
    ) -> list[str]:
        """Wait until a run of ``name`` under none of these fences began: its pid, worker and fence."""

        def fresh() -> list[str]:
            for path in self.home.glob(f"{name}-[0-9]*"):
                for line in path.read_text().splitlines():
                    if line.split()[2] not in fences:
                        return line.split()
            return []

        return until(fresh, timeout=within, message=f"another run of {name}")

    def lines(self, name: str) -> list[str]:
        """What was said there so far."""
        path = self.home / name
        return path.read_text().splitlines() if path.exists() else []

    def let_go(self, gate: str, words: str = "") -> None:
        """Open a gate, ``name-attempt`` or a fence, and tell the handler behind it what to do."""
        draft = self.home / f"draft-{gate}"
        draft.write_text(words)
        draft.rename(self.home / f"go-{gate}")  # whole or not at all

    def say(self, name: str) -> None:
        """Make the file that a handler waits for."""
        (self.home / name).touch()
