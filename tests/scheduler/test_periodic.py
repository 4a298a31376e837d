"""Every tick of a schedule becomes one job, or none where the schedule says so, and never two."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, connection

from hubqueue.api import Missed
from hubqueue.models import Job, PeriodicTick
from hubqueue.registry import Schedule
from hubqueue.scheduler import periodic
from hubqueue.scheduler.errors import PartlyFailed
from hubqueue.scheduler.periodic import decide, late_after

pytestmark = pytest.mark.django_db

Make = Callable[..., Schedule]
NOON = datetime(2026, 5, 6, 12, 0, 5, tzinfo=UTC)
GAP = timedelta(minutes=3, seconds=30)


def at(minute: int) -> datetime:
    return NOON.replace(minute=minute, second=0)


def fired() -> list[datetime]:
    """The intended times that the jobs carry, in order of enqueue."""
    return [datetime.fromisoformat(job.meta["tick"]) for job in Job.objects.order_by("id")]


def run(schedule: Schedule, *moments: datetime) -> list[datetime]:
    for moment in moments:
        decide([schedule], moment, using="default")
    return fired()


def refuse(table: str, when: str) -> None:
    """Let the database refuse the insert or update of a row."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE OR REPLACE FUNCTION pg_temp.refuse() RETURNS trigger LANGUAGE plpgsql"
            " AS $$ BEGIN RAISE 'refused'; END $$"
        )
        cursor.execute(f"CREATE TRIGGER refuse {when} ON {table} EXECUTE FUNCTION pg_temp.refuse()")


def test_a_schedule_seen_for_the_first_time_starts_from_now(schedule: Make) -> None:
    assert run(schedule(missed=Missed.ALL), NOON, NOON + timedelta(seconds=5)) == []
    tick = PeriodicTick.objects.get()
    assert (tick.at, tick.job_id) == (NOON, None)


def test_a_tick_becomes_one_job_and_its_record_names_it(schedule: Make) -> None:
    moments = [NOON + timedelta(seconds=5 * n) for n in range(25)]
    assert run(schedule(), *moments) == [at(1), at(2)]
    records = PeriodicTick.objects.filter(job_id__isnull=False).order_by("at")
    assert [each.at for each in records] == [at(1), at(2)]
    assert [each.job_id for each in records] == [job.id for job in Job.objects.order_by("id")]


@pytest.mark.parametrize(
    ("missed", "limit", "expected"),
    [
        (Missed.SKIP, 100, []),
        (Missed.LATEST, 100, [3]),
        (Missed.ALL, 100, [1, 2, 3]),
        (Missed.ALL, 2, [2, 3]),
    ],
)
def test_a_gap_of_three_and_a_half_minutes_is_caught_up_by_the_rule_of_the_schedule(
    schedule: Make, missed: Missed, limit: int, expected: list[int]
) -> None:
    after = NOON + GAP
    found = run(schedule(missed=missed, limit=limit), NOON, after, after + timedelta(seconds=5))
    assert found == [at(minute) for minute in expected]
    # And the first tick after the gap is on time for every rule.
    assert run(schedule(missed=missed, limit=limit), NOON.replace(minute=4))[-1] == at(4)


def test_a_tick_is_late_only_after_four_ticks_of_the_scheduler(schedule: Make) -> None:
    edge = at(1) + late_after()
    assert run(schedule(missed=Missed.SKIP), NOON, edge) == [at(1)]
    assert run(
        schedule(missed=Missed.SKIP, name="other"), NOON, edge + timedelta(microseconds=1)
    ) == [at(1)]


def test_what_was_skipped_stays_skipped(schedule: Make) -> None:
    run(schedule(missed=Missed.SKIP), NOON, NOON + GAP)
    assert run(schedule(missed=Missed.ALL), NOON + GAP + timedelta(seconds=1)) == []


def test_deciding_the_same_moment_again_enqueues_nothing(schedule: Make) -> None:
    assert run(schedule(missed=Missed.ALL), NOON, NOON + GAP, NOON + GAP, NOON + GAP) == [
        at(1),
        at(2),
        at(3),
    ]


def test_a_leader_that_was_frozen_before_its_insert_fires_nothing_that_its_successor_passed_over(
    schedule: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(schedule(missed=Missed.LATEST), NOON, NOON + GAP)
    assert fired() == [at(3)]
    # The frozen one goes on with what it had read at 12:01.
    monkeypatch.setattr(periodic, "_last_ticks", lambda names, using: dict.fromkeys(names, NOON))
    assert run(schedule(missed=Missed.LATEST), at(1) + timedelta(seconds=2)) == [at(3)]


def test_two_leaders_that_read_the_same_fire_a_tick_once(
    schedule: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(schedule(missed=Missed.ALL), NOON)
    monkeypatch.setattr(periodic, "_last_ticks", lambda names, using: dict.fromkeys(names, NOON))
    assert run(schedule(missed=Missed.ALL), NOON + GAP, NOON + GAP) == [at(1), at(2), at(3)]


def test_a_clock_that_went_back_fires_nothing_twice(schedule: Make) -> None:
    assert run(schedule(missed=Missed.ALL), NOON, NOON + GAP, NOON, NOON + GAP) == [
        at(1),
        at(2),
        at(3),
    ]


def test_an_enqueue_that_fails_leaves_no_record_of_its_tick(schedule: Make) -> None:
    run(schedule(), NOON)
    refuse("hubqueue_job", "BEFORE INSERT")
    with pytest.raises(PartlyFailed):
        run(schedule(), at(1))
    assert PeriodicTick.objects.filter(at__gt=NOON).count() == 0


@pytest.mark.parametrize("when", ["BEFORE INSERT", "BEFORE UPDATE"])
def test_a_record_that_fails_leaves_no_job_of_its_tick(schedule: Make, when: str) -> None:
    run(schedule(), NOON)
    refuse("hubqueue_periodictick", when)
    with pytest.raises(PartlyFailed):
        run(schedule(), at(1))
    assert Job.objects.count() == 0
    assert PeriodicTick.objects.filter(at__gt=NOON).count() == 0


def test_what_failed_is_made_up_for_at_the_next_tick(schedule: Make) -> None:
    run(schedule(), NOON)
    refuse("hubqueue_job", "BEFORE INSERT")
    with pytest.raises(PartlyFailed):
        run(schedule(), at(1))
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER refuse ON hubqueue_job")
    assert run(schedule(), at(1) + timedelta(seconds=5)) == [at(1)]


def test_a_schedule_that_fails_stops_no_other(schedule: Make) -> None:
    broken, well = schedule("61 * * * *", name="a.broken"), schedule(name="b.well")
    decide([well], NOON, using="default")
    PeriodicTick.objects.create(schedule="a.broken", at=NOON)
    with pytest.raises(PartlyFailed):
        decide([broken, well], at(1), using="default")
    assert fired() == [at(1)]


def test_two_schedules_of_one_handler_fire_each_for_itself(schedule: Make) -> None:
    both = [schedule(name="one"), schedule("*/2 * * * *", name="two")]
    for moment in (NOON, at(1), at(2)):
        decide(both, moment, using="default")
    assert sorted(fired()) == [at(1), at(2), at(2)]


def test_a_schedule_in_a_local_zone_fires_on_the_night_the_clocks_change(schedule: Make) -> None:
    nightly = schedule("30 2 * * *", timezone="Europe/Berlin", missed=Missed.ALL)
    before, after = datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 25, 12, tzinfo=UTC)
    assert run(nightly, before, after) == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]


def test_an_idle_look_at_two_hundred_schedules_is_one_query(
    schedule: Make, django_assert_num_queries: Callable[[int], object]
) -> None:
    many = [schedule(name=f"number.{n}") for n in range(200)]
    decide(many, NOON, using="default")
    with django_assert_num_queries(1):
        decide(many, NOON + timedelta(seconds=5), using="default")


def test_the_refusing_database_really_refuses(schedule: Make) -> None:
    refuse("hubqueue_job", "BEFORE INSERT")
    with pytest.raises(DatabaseError):
        schedule().handler.enqueue()
