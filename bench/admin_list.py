"""The admin's pages over jobs in millions: list, each filter, search, detail, scrape; milliseconds each.

    python -m bench admin-list [--rows 1000000] [--shape retained|backlog]

`retained`: nearly all rows are finished. `backlog`: nine of ten are due.
"""

import argparse
import logging
from typing import Any

from bench.throwaway import database, measured

SEED = """
INSERT INTO hubqueue_job (id, kind, queue, priority, tenant_id, payload, dedupe_key, state, run_at, attempts,
    max_attempts, fence, claimed_by, suspect, error_code, meta, created_at, finished_at, park_reason)
SELECT
    (lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n %% 4096), 3, '0')
        || '8' || substr(md5(n::text), 1, 15))::uuid,
    CASE WHEN n %% 10 > 0 THEN 'bench.usual' WHEN n IN (20, 700010) THEN 'bench.rare' ELSE 'bench.other' END,
    CASE WHEN n %% 10 > 0 THEN 'default' ELSE 'mail' END,
    n %% 3, 'tenant-' || n %% 1000,
    jsonb_build_object('n', n, 'text', repeat(md5(n::text), 6)),
    CASE WHEN n %% 5 = 0 THEN 'key-' || n END,
    state,
    CASE WHEN state = 'READY' AND n %% 4 = 1 THEN now() + interval '1 hour' ELSE made END,
    CASE WHEN state = 'DEAD' THEN 10 ELSE 0 END, 10, n,
    CASE WHEN state = 'RUNNING' THEN gen_random_uuid() END, false,
    CASE WHEN state = 'DEAD' THEN 'refused' END, '{}', made,
    CASE WHEN state IN ('SUCCEEDED', 'CANCELLED', 'DEAD') THEN made END,
    CASE WHEN state = 'PARKED' THEN 'look at it' END
FROM (
    SELECT n, now() - (%(rows)s - n) * interval '2 seconds' AS made,
        CASE
            WHEN n %% 50 = 7 THEN 'DEAD' WHEN n %% 200 = 11 THEN 'PARKED' WHEN n %% 300 = 13 THEN 'CANCELLED'
            WHEN n %% 20000 = 17 THEN 'RUNNING' WHEN n %% 100 = 21 THEN %(second)s ELSE %(first)s
        END AS state
    FROM generate_series(1, %(rows)s) AS n
) AS made
"""


def main(arguments: list[str]) -> int:
    """Seed, then time every page. Figures are of the first and of the best of three requests."""
    parser = argparse.ArgumentParser(prog="python -m bench admin-list")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shape", choices=["retained", "backlog"], default="retained")
    chosen = parser.parse_args(arguments)
    with database("admin_list"):
        logging.disable(logging.WARNING)
        _register_kinds()
        _seed(chosen.rows, chosen.shape)
        _measure()
    return 0


def _register_kinds() -> None:
    from hubqueue.api import JobContext, handler
    from hubqueue.registry import registry

    for kind in ("bench.usual", "bench.other", "bench.rare"):

        def nothing(job: JobContext) -> None:
            return None

        nothing.__qualname__ = kind
        if registry.find(kind) is None:
            handler(kind)(nothing)


def _seed(rows: int, shape: str) -> None:
    from django.db import connection

    first, second = ("SUCCEEDED", "READY") if shape == "retained" else ("READY", "SUCCEEDED")
    with connection.cursor() as cursor:
        cursor.execute(SEED, {"rows": rows, "first": first, "second": second})
        cursor.execute("VACUUM (ANALYZE) hubqueue_job")
    print(f"{rows:,} rows, {shape}")


def _measure() -> None:
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from hubqueue import gauges
    from hubqueue.models import Job

    officer = get_user_model().objects.create_superuser("officer")
    client = Client()
    client.force_login(officer)
    dead = Job.objects.filter(state="DEAD").order_by("-id").values_list("id", flat=True)[0]
    ready = (
        Job.objects.ready().order_by("queue", "priority", "run_at").values_list("id", flat=True)[0]
    )
    oldest = Job.objects.order_by("id").values_list("id", flat=True)[100]
    key = (
        Job.objects.filter(dedupe_key__isnull=False)
        .order_by("id")
        .values_list("dedupe_key", flat=True)[500]
    )
    print(f"{'page':<58}{'first':>9}{'best':>9}{'queries':>9}{'in SQL':>9}{'counts':>8}")
    for label, query in _pages(dead, oldest, key).items():
        address = f"/admin/hubqueue/job/{query}"
        first, best, _ = measured(lambda address=address: _get(client, address))
        with CaptureQueriesContext(
            connection,
        ) as asked:
            _get(client, address)
        _print(label, first, best, asked.captured_queries)
    for label, job_id in (
        ("detail of a dead letter", dead),
        ("detail of a due job (its turn)", ready),
    ):
        address = f"/admin/hubqueue/job/{job_id}/change/"
        first, best, _ = measured(lambda address=address: _get(client, address))
        with CaptureQueriesContext(connection) as asked:
            _get(client, address)
        _print(label, first, best, asked.captured_queries)
    first, best, _ = measured(lambda: (gauges.current.forget(), gauges.exposition())[1])
    print(f"{'scrape of the gauges, not cached':<58}{first:>9.1f}{best:>9.1f}")


def _pages(dead: object, oldest: object, key: str) -> dict[str, str]:
    states = ("due", "scheduled", "retry", "RUNNING", "PARKED", "DEAD", "SUCCEEDED", "CANCELLED")
    return {
        "all": "",
        "all, the oldest page": f"?before={oldest}",
        **{f"state {state}": f"?state={state}" for state in states},
        "kind bench.usual": "?kind=bench.usual",
        "kind bench.rare (2 rows of all)": "?kind=bench.rare",
        "kind (unknown)": "?kind=(unknown)",
        "queue mail": "?queue=mail",
        "queue backups (no rows)": "?queue=backups",
        "tenant": "?tenant=tenant-7",
        "tenant nobody": "?tenant=nobody",
        "state DEAD, kind bench.rare": "?state=DEAD&kind=bench.rare",
        "state DEAD, tenant nobody": "?state=DEAD&tenant=nobody",
        "state DEAD, code refused": "?state=DEAD&code=refused",
        "state due, tenant nobody": "?state=due&tenant=nobody",
        "state due, queue mail, kind bench.rare": "?state=due&queue=mail&kind=bench.rare",
        "state SUCCEEDED, tenant nobody": "?state=SUCCEEDED&tenant=nobody",
        "search an id": f"?q={dead}",
        "search a dedupe key": f"?q={key}",
        "search a dedupe key nobody has": "?q=nobody",
    }


def _get(client: Any, address: str) -> Any:
    answer = client.get(address)
    if answer.status_code != 200:
        raise SystemExit(f"{address} answered {answer.status_code}")
    return answer


def _print(label: str, first: float, best: float, asked: list[dict[str, str]]) -> None:
    in_sql = sum(float(each["time"]) for each in asked) * 1000
    unbounded = sum("COUNT(*)" in each["sql"] and "LIMIT" not in each["sql"] for each in asked)
    print(f"{label:<58}{first:>9.1f}{best:>9.1f}{len(asked):>9}{in_sql:>9.1f}{unbounded:>8}")
