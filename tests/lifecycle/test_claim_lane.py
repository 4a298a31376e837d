"""What a bell rang for is claimed the quickest way: one lane, by the same rules as all of them."""

from collections.abc import Iterator
from datetime import timedelta
from math import inf
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError
from psycopg.pq import TransactionStatus

from hubqueue import officers
from hubqueue.lifecycle.claim import Lane, LaneClaim, claim, tell_of
from hubqueue.lifecycle.database import text_array
from hubqueue.lifecycle.guard import Claimed
from hubqueue.runner.intake import Intake
from hubqueue.signals import Pickup, jobs_claimed
from tests.support.intakes import intake_of, no_hands
from tests.support.rows import KIND, fill, make_job, now

pytestmark = pytest.mark.django_db

WORKER = uuid4()


def take(lane: Lane, room: int = 10) -> list[Claimed]:
    return LaneClaim(WORKER, lane, room, [KIND], using="default").ask()


def rung(intake: Intake, queue: str, at_most: int | None = None) -> list[Claimed] | None:
    """What a bell brings to an intake whose loop was about to wait."""
    intake.foresee(at_most=at_most)
    return intake.claim_foreseen(queue, meanwhile=list)


def plain(intake: Intake, queue: str, at_most: int | None = None) -> list[Claimed] | None:
    return intake.claim(at_most=at_most)


@pytest.fixture
def told() -> Iterator[list[Pickup]]:
    pickups: list[Pickup] = []

    def note(*, pickups: list[Pickup], told: list[Pickup] = pickups, **_: Any) -> None:
        told += pickups

    jobs_claimed.connect(note)
    yield pickups
    jobs_claimed.disconnect(note)


def rows() -> None:
    """Three tenants, two priorities, some for later and some of a paused kind and tenant."""
    for number in range(4):
        for tenant in ("a", "b", None, "shut"):
            run_at = now() - timedelta(minutes=number)
            make_job(tenant_id=tenant, run_at=run_at)
            make_job(tenant_id=tenant, priority=-3, run_at=run_at + timedelta(minutes=2))
    make_job(kind="somebody.else")
    make_job(queue="mail")
    officers.pause("tenant", "shut", actor="me", reason="r")


def order(lane: Lane, *, alone: bool) -> list[UUID]:
    found: list[UUID] = []
    while True:
        claimed = take(lane, 3) if alone else claim(WORKER, [lane], [3], 3, [KIND], using="default")
        if not claimed:
            return found
        found += [each.id for each in claimed]


def test_a_lane_by_itself_gives_the_jobs_in_the_order_in_which_a_claim_of_lanes_does() -> None:
    rows()
    found = []
    for alone in (True, False):
        mark = transaction.savepoint()
        found.append(order(Lane("default", 0), alone=alone))
        transaction.savepoint_rollback(mark)
    assert len(found[0]) == 18
    assert found[0] == found[1]


def test_a_lane_by_itself_remembers_turns_and_floors_for_the_next_claim_of_any_way() -> None:
    for number in range(6):
        make_job(tenant_id="ab"[number % 2], run_at=now() - timedelta(minutes=9 - number))
    lane = Lane("default", 0)
    (first,) = take(lane, 1)
    (second,) = claim(WORKER, [lane], [1], 1, [KIND], using="default")
    (third,) = take(lane, 1)
    assert (first.tenant, second.tenant, third.tenant) == ("a", "b", "a")
    assert list(lane.floors) == ["0"]


def test_a_paused_queue_gives_nothing_when_its_bell_rings() -> None:
    make_job()
    officers.pause("queue", "default", actor="me", reason="r")
    assert take(Lane("default", 0)) == []


def test_a_paused_kind_gives_nothing_when_its_bell_rings() -> None:
    make_job()
    officers.pause("kind", KIND, actor="me", reason="r")
    assert take(Lane("default", 0)) == []


def test_what_a_bell_brought_is_told_once_it_is_under_way_and_not_before(
    told: list[Pickup],
) -> None:
    make_job()
    claimed = take(Lane("default", 0))
    assert told == []
    tell_of(claimed)
    (pickup,) = told
    assert (pickup.kind, pickup.queue, pickup.waited >= 1) == (KIND, "default", True)


@pytest.mark.parametrize("paused", [True, False])
def test_where_no_kind_is_open_the_backlog_is_not_walked(paused: bool) -> None:
    fill(20_000)
    if paused:
        officers.pause("kind", KIND, actor="me", reason="r")
    take(Lane("elsewhere", 0))  # what a session reads once, of the catalog, is not the backlog
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)"
            " SELECT * FROM hubqueue_claim_lane(%s, 'default', 4, %s::text[], '{}', '{}')",
            [WORKER, [KIND] if paused else []],
        )
        ((plan,),) = cursor.fetchall()
    top = plan[0]["Plan"]
    assert top["Actual Rows"] == 0
    assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] < 200


@pytest.mark.django_db(transaction=True)
def test_a_bell_fills_the_free_threads_and_no_more_than_the_cap_and_the_bound_allow() -> None:
    for queue in ("default", "mail"):
        for _ in range(9):
            make_job(queue=queue)
    intake = intake_of(WORKER, Lane("default", 0), Lane("mail", 2))
    first = rung(intake, "default", at_most=3)
    assert first is not None
    assert ([each.queue for each in first], intake.full) == (["default"] * 3, True)
    capped = rung(intake, "mail")
    assert capped is not None
    assert len(capped) == 2
    batches, _ = intake.bundle(capped)
    busy = intake_of(WORKER, Lane("mail", 2), beside=tuple(batches))
    assert rung(busy, "mail") is None


@pytest.mark.django_db(transaction=True)
def test_an_intake_that_found_less_than_it_had_room_for_knows_that_there_is_no_more() -> None:
    make_job()
    intake = intake_of(WORKER, Lane("default", 0))
    assert len(rung(intake, "default") or []) == 1
    assert not intake.full


@pytest.mark.django_db(transaction=True)
def test_what_is_asked_when_a_bell_rings_is_written_down_anew_after_every_claim_of_the_lane() -> (
    None
):
    for number in range(4):
        make_job(tenant_id="ab"[number % 2], run_at=now() - timedelta(minutes=9 - number))
    lane = Lane("default", 0)
    intake = intake_of(WORKER, lane)
    tenants = []
    for way in (rung, rung, plain, rung):
        (claimed,) = way(intake, "default", at_most=1) or []
        tenants.append(claimed.tenant)
    assert tenants == ["a", "b", "a", "b"]


@pytest.mark.django_db(transaction=True)
def test_a_bell_brings_no_more_than_there_are_free_threads_now() -> None:
    for _ in range(9):
        make_job()
    hands = no_hands()
    intake = intake_of(WORKER, Lane("default", 0), hands=hands)
    intake.foresee(at_most=None)
    batches, _ = intake.bundle(intake.claim(at_most=3))
    hands.take(batches)
    assert len(rung(intake, "default") or []) == 1


@pytest.mark.django_db(transaction=True)
def test_a_bell_brings_no_more_than_may_be_taken_now() -> None:
    for _ in range(9):
        make_job()
    intake = intake_of(WORKER, Lane("default", 0))
    intake.foresee(at_most=3)
    assert len(rung(intake, "default", at_most=1) or []) == 1


@pytest.mark.django_db(transaction=True)
def test_a_bell_that_rings_before_anything_was_written_down_is_left_to_the_next_look() -> None:
    make_job()
    intake = intake_of(WORKER, Lane("default", 0))
    assert intake.claim_foreseen("default", meanwhile=list) is None
    intake.foresee(at_most=0)
    assert intake.claim_foreseen("default", meanwhile=list) is None
    assert len(rung(intake, "default") or []) == 1


@pytest.mark.django_db(transaction=True)
def test_a_job_that_was_dated_back_is_found_when_its_bell_rings_and_a_full_look_is_due() -> None:
    lane = Lane("default", 0)
    intake = intake_of(WORKER, lane)
    make_job()
    assert len(rung(intake, "default") or []) == 1
    make_job(run_at=now() - timedelta(hours=1))
    lane.full_look_at = inf
    assert rung(intake, "default") == []
    lane.full_look_at = 0.0
    assert len(rung(intake, "default") or []) == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_to_be_done_meanwhile_is_done_once_and_before_the_answer_is_there() -> None:
    make_job()
    states = []

    def look() -> None:
        states.append(connection.connection.pgconn.transaction_status)

    assert (
        len(LaneClaim(WORKER, Lane("default", 0), 1, [KIND], using="default").ask(meanwhile=look))
        == 1
    )
    assert states == [TransactionStatus.ACTIVE]


@pytest.mark.django_db(transaction=True)
def test_a_claim_over_a_lost_session_fails_as_djangos_statements_do() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    written = LaneClaim(WORKER, Lane("default", 0), 1, [KIND], using="default")
    connection.connection.close()
    with pytest.raises(OperationalError):
        written.ask()
    with pytest.raises(OperationalError):
        take(Lane("default", 0))
    connection.close()
    make_job()
    assert len(take(Lane("default", 0))) == 1


def test_a_claim_in_a_block_that_is_to_roll_back_is_refused_as_any_statement_is() -> None:
    make_job()
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(TransactionManagementError):
            take(Lane("default", 0))


@pytest.mark.parametrize(
    "texts", [(), ("a.b", "c"), ('"', "\\", "{}", ",", " ", "", "NULL", "'", "ä%b")]
)
def test_texts_arrive_as_they_are(texts: tuple[str, ...]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::text[]", [text_array(texts).decode()])
        assert cursor.fetchone() == (list(texts),)
