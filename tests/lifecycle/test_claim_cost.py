"""What a claim costs: bounded by its batch, not by what waits for later, what is finished, or who has work."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from hubqueue import officers
from hubqueue.lifecycle.claim import Lane, claim
from hubqueue.lifecycle.settle import settle_within, succeed
from hubqueue.models import Job
from tests.support.handlers import scripted
from tests.support.rival import Rival
from tests.support.rows import KIND

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CLAIM = "SELECT json_array_elements(jobs) FROM hubqueue_claim(%s, %s, %s, %s)"
QUEUES = [f"q{n}" for n in range(20)]
BATCH = 10


@pytest.fixture
def crowded() -> Iterator[None]:
    """500,000 future, 500,000 finished and 1,000 due rows over 20 queues and 5,000 tenants; 3 queues paused."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE hubqueue_job SET (autovacuum_enabled = off)")
        for count, state, run_at in (
            (500_000, "READY", "interval '30 days'"),
            (500_000, "SUCCEEDED", "interval '-1 day'"),
            (1_000, "READY", "interval '-1 minute'"),
        ):
            cursor.execute(
                f"""
                INSERT INTO hubqueue_job (id, kind, queue, priority, tenant_id, payload, state, run_at, attempts,
                    max_attempts, fence, suspect, meta, created_at, finished_at)
                SELECT gen_random_uuid(), %s, 'q' || n %% 20, 0, 't' || n %% 5000, '{{}}', %s,
                    hubqueue_now() + {run_at} + n * interval '1 microsecond', 0, 3, 0, false, '{{}}', hubqueue_now(),
                    CASE WHEN %s = 'SUCCEEDED' THEN hubqueue_now() END
                FROM generate_series(1, %s) AS n
                """,
                [KIND, state, state, count],
            )
    for queue in QUEUES[:3]:
        officers.pause("queue", queue, actor="pat", reason="test")
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE hubqueue_job CASCADE")
        cursor.execute("ALTER TABLE hubqueue_job RESET (autovacuum_enabled)")


def claim_and_measure(queues: list[str]) -> tuple[int, int, float]:
    """Rows claimed, blocks touched and milliseconds of one claim, as the server counts them."""
    lanes = [{"queue": queue, "room": BATCH, "turns": {}, "floors": {}} for queue in queues]
    arguments = [uuid4(), json.dumps(lanes), BATCH, [KIND]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {CLAIM}", arguments)
        ((plan,),) = cursor.fetchall()
    top: dict[str, Any] = plan[0]["Plan"]
    blocks = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    return top["Actual Rows"], blocks, top["Actual Total Time"]


def sequential_scans() -> int:
    """Sequential scans of the job table in this session's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'hubqueue_job'"
        )
        (found,) = cursor.fetchone()
    return int(found)


@pytest.mark.alone  # milliseconds are promised
@pytest.mark.timeout(300)
def test_a_claim_among_a_million_rows_walks_no_table_and_touches_few_blocks(crowded: None) -> None:
    for statistics in ("none", "fresh"):
        if statistics == "fresh":
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE hubqueue_job")
        with transaction.atomic():
            before = sequential_scans()
            costs = [claim_and_measure(QUEUES[n:] + QUEUES[:n]) for n in range(3, 15)]
            assert sequential_scans() == before
            transaction.set_rollback(True)
        assert [rows for rows, _, _ in costs] == [BATCH] * len(costs)
        _, blocks, milliseconds = sorted(costs, key=lambda cost: cost[1])[len(costs) // 2]
        assert blocks < 1500
        assert milliseconds < 50
    Job.objects.due().delete()
    costs = [claim_and_measure(QUEUES) for _ in range(3)]
    assert [rows for rows, _, _ in costs] == [0, 0, 0]
    assert max(blocks for _, blocks, _ in costs[1:]) < 20 * len(QUEUES), "an idle worker asks often"


def blocks_of(lane: Lane) -> int:
    """Blocks of the job table and its indexes that one claim of the lane and its settle touch."""
    before = _touched()
    take(lane, BATCH)
    return _touched() - before


def take(lane: Lane, count: int) -> None:
    """Claim so many, and settle them."""
    found = claim(uuid4(), [lane], [count], count, [KIND], using="default")
    with transaction.atomic():
        settle_within([(each, succeed()) for each in found], using="default")
    assert len(found) == count


def _touched() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read"
            " FROM pg_statio_user_tables WHERE relname = 'hubqueue_job'"
        )
        ((found,),) = cursor.fetchall()
    return int(found)


def fill(count: int, kind: str = KIND, tenants: int = 1, apart: int = 1) -> None:
    """``apart``: microseconds between the moments when they are due; 0 = as one call enqueues them, ids in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_job (id, kind, queue, priority, tenant_id, payload, state, run_at, attempts,
                max_attempts, fence, suspect, meta, created_at)
            SELECT (left(md5(%s), 8) || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, %s, 'default', 0,
                't' || n %% %s, '{}', 'READY',
                hubqueue_now() - interval '1 minute' + n * %s * interval '1 microsecond', 0, 3, 0, false, '{}',
                hubqueue_now()
            FROM generate_series(1, %s) AS n
            """,
            [kind, kind, tenants, apart, count],
        )


@pytest.mark.parametrize(("tenants", "apart"), [(1, 1), (200, 1), (1, 0), (200, 0)])
def test_a_claim_stays_as_cheap_while_somebody_holds_an_old_snapshot(
    tenants: int, apart: int
) -> None:
    fill(21_000, tenants=tenants, apart=apart)
    lane = Lane("default", BATCH)
    with Rival() as holder:
        holder.begin()
        holder.do(
            lambda: connection.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        )
        holder.do(Job.objects.exists)
        first = usual_cost(lane)
        for _ in range(40):
            take(lane, 500)
        last = usual_cost(lane)
    assert last < 2 * first


def usual_cost(lane: Lane) -> int:
    """The median of some claims that are no full looks."""
    costs = []
    for _ in range(15):
        lane.full_look_at = float("inf")
        costs.append(blocks_of(lane))
    return sorted(costs)[7]


@pytest.mark.parametrize("there", [0, 30, 1000])
def test_a_plan_made_while_the_table_was_small_does_not_walk_it_when_it_is_large(
    there: int,
) -> None:
    lane = Lane("default", BATCH)
    fill(there, kind="sample.later")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE hubqueue_job SET run_at = hubqueue_now() + interval '1 day'")
        cursor.execute("ALTER TABLE hubqueue_job SET (autovacuum_enabled = off)")
        cursor.execute("VACUUM ANALYZE hubqueue_job")
    try:
        for _ in range(12):  # a session keeps the plan of the sixth time
            scripted.enqueue()
            take(lane, 1)
        fill(20_000)
        assert blocks_of(Lane("default", BATCH)) < 50 * BATCH
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE hubqueue_job RESET (autovacuum_enabled)")


def test_a_wall_of_rows_of_an_unknown_or_paused_kind_is_walked_once() -> None:
    fill(20_000, kind="sample.unknown")
    fill(500)
    lane = Lane("default", BATCH)
    full = blocks_of(lane)
    lane.full_look_at = float("inf")
    assert blocks_of(lane) < full - 500


def test_the_statements_use_their_indexes() -> None:
    """No query inside the claim or the settle reads the whole table, as the server counts the scans."""
    fill(5_000)
    lane = Lane("default", BATCH)
    with transaction.atomic():
        before = _scans()
        found = claim(uuid4(), [lane], [BATCH], BATCH, [KIND], using="default")
        settle_within([(each, succeed()) for each in found], using="default")
        whole, by_index = (now - then for now, then in zip(_scans(), before, strict=True))
    assert len(found) == BATCH
    assert whole == 0
    assert by_index > 0


def _scans() -> tuple[int, int]:
    """Whole and index scans of the job table in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'hubqueue_job'"
        )
        (counts,) = cursor.fetchall()
    return counts[0], counts[1]
