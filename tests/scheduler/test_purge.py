"""What is finished for long enough goes, in small batches; nothing else does."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction

from hubqueue.ids import uuid7
from hubqueue.lifecycle import purge
from hubqueue.lifecycle.purge import (
    Walk,
    purge_failures,
    purge_jobs,
    purge_ticks,
    purge_workers,
)
from hubqueue.models import Failure, Job, PeriodicTick, Worker
from hubqueue.states import FINISHED, State

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)
DAY = timedelta(days=1)
LONG = timedelta(minutes=1)


def id_at(moment: datetime, n: int = 0) -> UUID:
    return UUID(int=int(moment.timestamp() * 1000) << 80 | 0x7 << 76 | n)


def job(state: State, *, born: timedelta, finished: timedelta | None = None, n: int = 0) -> UUID:
    """A job that was born and finished that long ago."""
    over = finished if finished is not None else born
    made = Job.objects.create(
        id=id_at(NOW - born, n),
        kind="schedulertest.tick",
        queue="default",
        state=state,
        run_at=NOW - born,
        max_attempts=10,
        claimed_by=uuid7() if state is State.RUNNING else None,
        created_at=NOW - born,
        finished_at=NOW - over if state in FINISHED else None,
    )
    return made.id


def sweep(walk: Walk | None = None, *, now: datetime = NOW, within: timedelta = LONG) -> int:
    return purge_jobs(
        walk or Walk(),
        now=now,
        keep_finished=30 * DAY,
        keep_dead=90 * DAY,
        within=within,
        using="default",
    )


def many(count: int, state: State, *, born: timedelta) -> None:
    """Rows in bulk, a microsecond of id apart."""
    high = int((NOW - born).timestamp() * 1000)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_job (id, kind, queue, priority, payload, state, run_at, attempts, max_attempts,
                fence, suspect, meta, created_at, finished_at)
            SELECT (lpad(to_hex(%(high)s + n / 4096), 12, '0') || '7' || lpad(to_hex(n %% 4096), 3, '0')
                    || '8000000000000000')::uuid,
                'schedulertest.tick', 'default', 0, '{}', %(state)s, %(born)s, 1, 10, 0, false, '{}', %(born)s,
                CASE WHEN %(state)s IN ('SUCCEEDED', 'CANCELLED', 'DEAD') THEN %(born)s::timestamptz END
            FROM generate_series(0, %(count)s - 1) AS n
            """,
            {"high": high, "state": state, "born": NOW - born, "count": count},
        )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("state", "age", "goes"),
    [
        (State.SUCCEEDED, 31, True),
        (State.SUCCEEDED, 29, False),
        (State.CANCELLED, 31, True),
        (State.CANCELLED, 29, False),
        (State.DEAD, 91, True),
        (State.DEAD, 89, False),
        (State.DEAD, 31, False),
        (State.READY, 365, False),
        (State.RUNNING, 365, False),
        (State.PARKED, 365, False),
    ],
)
def test_a_job_goes_when_it_was_finished_for_as_long_as_its_state_is_kept(
    state: State, age: int, *, goes: bool
) -> None:
    job(state, born=age * DAY)
    assert sweep() == int(goes)
    assert Job.objects.exists() is not goes


@pytest.mark.django_db
def test_an_old_job_that_finished_lately_is_kept_until_its_own_time() -> None:
    job(State.SUCCEEDED, born=365 * DAY, finished=DAY)
    walk = Walk()
    assert sweep(walk) == 0
    assert sweep(walk, now=NOW + 28 * DAY) == 0
    assert sweep(walk, now=NOW + 30 * DAY) == 1


@pytest.mark.django_db
def test_a_purged_job_takes_its_failures_with_it() -> None:
    gone, stays = job(State.DEAD, born=91 * DAY), job(State.DEAD, born=89 * DAY)
    for each in (gone, stays):
        Failure.objects.create(job_id=each, attempt=1, code="exception", failed_at=NOW)
    sweep()
    assert [each.job_id for each in Failure.objects.all()] == [stays]


@pytest.mark.django_db
def test_a_call_without_time_still_gets_one_batch_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "BATCH", 100)
    many(450, State.SUCCEEDED, born=40 * DAY)
    walk = Walk(batch=100)
    assert [sweep(walk, within=timedelta(0)) for _ in range(6)] == [100, 100, 100, 100, 50, 0]


@pytest.mark.django_db
def test_a_wall_of_jobs_that_stay_is_passed_in_batches_and_not_met_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(purge, "BATCH", 100)
    many(1000, State.PARKED, born=50 * DAY)
    job(State.SUCCEEDED, born=40 * DAY)
    walk = Walk(batch=100)
    assert [sweep(walk, within=timedelta(0)) for _ in range(11)] == [0] * 10 + [1]
    with connection.execute_wrapper(_no_more_than(2)):
        sweep(walk, now=NOW + timedelta(minutes=5))


def _no_more_than(most: int):
    seen = []

    def count(execute, sql, params, many, context):
        seen.append(sql)
        assert len(seen) <= most
        return execute(sql, params, many, context)

    return count


@pytest.mark.django_db
def test_what_a_foreign_key_keeps_stops_nothing_else() -> None:
    kept = job(State.SUCCEEDED, born=40 * DAY)
    many(300, State.SUCCEEDED, born=39 * DAY)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE holder (job_id uuid REFERENCES hubqueue_job (id))")
        cursor.execute("INSERT INTO holder VALUES (%s)", [kept])
    assert sweep() == 300
    assert [each.id for each in Job.objects.all()] == [kept]


@pytest.mark.django_db(transaction=True)
def test_a_row_that_somebody_holds_is_left_for_the_next_pass() -> None:
    import psycopg

    held, free = job(State.DEAD, born=95 * DAY), job(State.DEAD, born=95 * DAY, n=1)
    params = {
        key: value
        for key, value in connection.get_connection_params().items()
        if key in {"dbname", "user", "password", "host", "port"}
    }
    walk = Walk()
    with psycopg.connect(**params) as officer:
        officer.execute("SELECT FROM hubqueue_job WHERE id = %s FOR UPDATE", [held])
        assert sweep(walk) == 1
    assert [each.id for each in Job.objects.all()] == [held] != [free]
    assert sweep(walk, now=NOW + timedelta(hours=1)) == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_hundred_thousand_rows_go_under_a_statement_timeout_and_the_living_stay() -> None:
    many(100_000, State.SUCCEEDED, born=60 * DAY)
    many(2_000, State.READY, born=59 * DAY)
    many(2_000, State.SUCCEEDED, born=5 * DAY)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '500ms'")
    walk, calls, gone = Walk(), 0, 0
    try:
        while not (calls and walk.at_end):
            batch = sweep(walk, within=timedelta(milliseconds=200))
            assert batch or walk.at_end
            gone, calls = gone + batch, calls + 1
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")
    assert gone == 100_000
    assert calls > 3
    assert Job.objects.ready().count() == 2_000
    assert Job.objects.finished().count() == 2_000


@pytest.mark.django_db
def test_the_walk_reads_the_primary_key_and_nothing_else() -> None:
    many(5_000, State.SUCCEEDED, born=40 * DAY)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE hubqueue_job")
        cursor.execute(
            "EXPLAIN " + purge.sql("purge_page"),
            {
                "after": purge.FIRST_ID,
                "ceiling": id_at(NOW),
                "batch": 100,
                "finished_before": NOW,
                "dead_before": NOW,
            },
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Scan using hubqueue_job_pkey" in plan
    assert "Sort" not in plan


@pytest.mark.django_db
def test_failures_go_by_their_own_age_whatever_became_of_the_job() -> None:
    ready = job(State.READY, born=100 * DAY)
    for age in (31, 29):
        Failure.objects.create(job_id=ready, attempt=1, code="exception", failed_at=NOW - age * DAY)
    assert purge_failures(before=NOW - 30 * DAY, within=LONG, using="default") == 1
    assert [each.failed_at for each in Failure.objects.all()] == [NOW - 29 * DAY]


@pytest.mark.django_db
def test_old_ticks_go_but_never_the_newest_of_a_schedule() -> None:
    for name, ages in {"yearly": (700, 400), "daily": (60, 45, 10, 9), "fresh": (1,)}.items():
        for age in ages:
            PeriodicTick.objects.create(schedule=name, at=NOW - age * DAY)
    assert purge_ticks(before=NOW - 30 * DAY, within=LONG, using="default") == 3
    left = {(each.schedule, (NOW - each.at).days) for each in PeriodicTick.objects.all()}
    assert left == {("yearly", 400), ("daily", 10), ("daily", 9), ("fresh", 1)}


@pytest.mark.django_db
def test_rows_of_workers_go_once_their_lease_is_long_past_and_no_job_names_them() -> None:
    def worker(ago: timedelta) -> UUID:
        return Worker.objects.create(
            id=uuid7(), host="h", pid=1, started_at=NOW - 9 * DAY, lease_until=NOW - ago
        ).id

    worker(2 * DAY)
    holding, lately = worker(2 * DAY), worker(DAY / 2)
    held = job(State.RUNNING, born=3 * DAY)
    Job.objects.filter(id=held).update(claimed_by=holding)
    assert purge_workers(before=NOW - DAY, within=LONG, using="default") == 1
    assert {each.id for each in Worker.objects.all()} == {holding, lately}


@pytest.mark.django_db
def test_a_dead_letter_that_was_redriven_between_the_look_and_the_delete_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    redriven = job(State.DEAD, born=95 * DAY)
    looked = purge._page

    def look(*args, **kwargs):
        page = looked(*args, **kwargs)
        with transaction.atomic():
            Job.objects.filter(id=redriven).update(state=State.READY, finished_at=None)
        return page

    monkeypatch.setattr(purge, "_page", look)
    assert sweep() == 0
    assert Job.objects.get().state == State.READY
