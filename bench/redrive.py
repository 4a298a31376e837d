"""A bulk redrive of dead letters, through the function that the admin and the command call.

    python -m bench redrive [--rows 50000] [--superseded 10]

`--superseded` in a hundred have a dedupe key that an unfinished job holds, and are refused.
"""

import argparse
import resource
import time
from collections import Counter

from bench.throwaway import database

SEED = """
INSERT INTO hubqueue_job (id, kind, queue, priority, tenant_id, payload, dedupe_key, state, run_at, attempts,
    max_attempts, fence, suspect, error_code, meta, created_at, finished_at)
SELECT gen_random_uuid(), 'bench.redriven', 'default', 0, 'tenant-' || n %% 100, jsonb_build_object('n', n),
    'key-' || n, 'DEAD', now(), 10, 10, n, false, 'refused', '{}'::jsonb, now(), now()
FROM generate_series(1, %(rows)s) AS n
UNION ALL
SELECT gen_random_uuid(), 'bench.redriven', 'default', 0, NULL, '{}'::jsonb, 'key-' || n, 'READY', now(), 0,
    10, 0, false, NULL, '{}'::jsonb, now(), NULL
FROM generate_series(1, %(rows)s) AS n WHERE n %% 100 < %(superseded)s
"""


def main(arguments: list[str]) -> int:
    """Seed, redrive all by filter, print figures."""
    parser = argparse.ArgumentParser(prog="python -m bench redrive")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--superseded", type=int, default=10)
    chosen = parser.parse_args(arguments)
    with database("redrive"):
        _seed(chosen.rows, chosen.superseded)
        _redrive(chosen.rows)
    return 0


def _seed(rows: int, superseded: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(SEED, {"rows": rows, "superseded": superseded})
        cursor.execute("ANALYZE hubqueue_job")


def _redrive(rows: int) -> None:
    from hubqueue import officers
    from hubqueue.models import Operation

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answers: Counter[str] = Counter()
    started = first = time.perf_counter()
    chosen = officers.find_dead(kind="bench.redriven", code="refused")
    for number, answer in enumerate(
        officers.redrive_many(chosen, actor="bench", reason="measured"), 1
    ):
        if number == 1:
            first = time.perf_counter()
        answers[answer.code or str(answer.state)] += 1
    seconds = time.perf_counter() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{rows:,} dead letters in {seconds:.1f} s: {rows / seconds:,.0f} a second")
    print(
        f"first answer after {(first - started) * 1000:.0f} ms, {grown / 1024:.0f} MB of memory more"
    )
    print(f"answers: {dict(answers)}; log entries: {Operation.objects.count():,}")
