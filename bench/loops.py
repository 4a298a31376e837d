"""The loops of the floor: `python -m bench.loops LOOP THREADS GROUP SECONDS`.

Each thread claims 100 jobs by one statement; then the effects and completions of GROUP jobs share a commit.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

from bench.ready import await_signal
from bench.systems import DSN, EFFECT

CLAIM = """
UPDATE floor_job SET state = 1 WHERE id IN (
    SELECT id FROM floor_job WHERE state = 0 ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
) RETURNING id, id
"""
COMPLETE = (
    "UPDATE floor_job SET state = 2, finished = clock_timestamp() WHERE id = ANY (%s) AND state = 1"
)
OWN_CLAIM = """
WITH next AS (
    SELECT id FROM hubqueue_job
    WHERE state = 'READY' AND NOT suspect AND queue = 'default' AND priority = 0 AND run_at <= now()
    ORDER BY run_at, id LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE hubqueue_job AS job
SET state = 'RUNNING', attempts = attempts + 1, fence = fence + 1, claimed_by = id, claimed_at = now()
WHERE id IN (SELECT id FROM next) RETURNING id, (payload ->> 'number')::bigint
"""
OWN_COMPLETE = """
UPDATE hubqueue_job SET state = 'SUCCEEDED', claimed_by = NULL, finished_at = clock_timestamp()
WHERE id = ANY (%s) AND state = 'RUNNING' AND fence = 1
"""
IN_ONE_STATEMENT = """
WITH next AS (SELECT id FROM floor_job WHERE state = 0 ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED),
    effects AS (INSERT INTO effect (number) SELECT id FROM next)
UPDATE floor_job SET state = 2, finished = clock_timestamp() WHERE id IN (SELECT id FROM next)
"""

Rows = Sequence[tuple[Any, int]]
Execute = Callable[[str, Sequence[Any]], Any]


def server(group: int, until: float) -> None:
    """Everything in one statement for 100 jobs: what the server does without a client in between."""
    with psycopg.connect(DSN, autocommit=True) as connection:
        while time.monotonic() < until and connection.execute(IN_ONE_STATEMENT).rowcount:
            pass


def bare(group: int, until: float) -> None:
    """psycopg: BEGIN, the effects, the completion, COMMIT."""
    with psycopg.connect(DSN, autocommit=True) as connection:
        for rows in _claims(lambda: connection.execute(CLAIM).fetchall(), group, until):
            with connection.transaction():
                _do(connection.execute, rows, COMPLETE)


def atomic(group: int, until: float, claim: str = CLAIM, complete: str = COMPLETE) -> None:
    """The same through Django's ``atomic()`` and cursors."""
    from django.db import connection, transaction

    def fetch() -> Rows:
        with connection.cursor() as cursor:
            cursor.execute(claim)
            return cursor.fetchall()

    for rows in _claims(fetch, group, until):
        with transaction.atomic(), connection.cursor() as cursor:
            _do(cursor.execute, rows, complete)
    connection.close()


def own(group: int, until: float) -> None:
    """The same on the queue's own table with all its indexes."""
    atomic(group, until, OWN_CLAIM, OWN_COMPLETE)


def _claims(fetch: Callable[[], Rows], group: int, until: float) -> Iterator[Rows]:
    while time.monotonic() < until and (rows := fetch()):
        for first in range(0, len(rows), group):
            yield rows[first : first + group]


def _do(execute: Execute, rows: Rows, complete: str) -> None:
    for _, number in rows:
        execute(EFFECT, [number])
    execute(complete, [[job for job, _ in rows]])


def main() -> None:
    name, threads, group, seconds = sys.argv[1:5]
    loop = {"server": server, "bare": bare, "atomic": atomic, "own": own}[name]
    if name in ("atomic", "own"):
        os.environ["DJANGO_SETTINGS_MODULE"] = "bench.project.settings"
        import django

        django.setup()
    await_signal()
    until = time.monotonic() + float(seconds)
    with ThreadPoolExecutor(int(threads)) as pool:
        for each in [pool.submit(loop, int(group), until) for _ in range(int(threads))]:
            each.result()
    print("null")


if __name__ == "__main__":
    main()
