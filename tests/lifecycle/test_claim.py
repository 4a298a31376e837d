"""Claim: strict priority, turns over tenants, caps, pauses, and a second look under the lock."""

from collections import Counter
from datetime import timedelta
from itertools import count
from uuid import uuid4

import pytest
from django.db import connection

from hubqueue import officers
from hubqueue.lifecycle import claim as claims
from hubqueue.lifecycle.claim import Lane, claim, claim_suspect
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import hand_back, settle
from hubqueue.models import Job
from hubqueue.states import State
from hubqueue.testing import move_clock
from tests.support.handlers import scripted
from tests.support.rows import KIND, attempt_of, claim_all, fill, image, make_job, now

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def take(lane: Lane, room: int = 10, kinds: list[str] | None = None) -> list[Claimed]:
    return claim(uuid4(), [lane], [room], room, kinds or [KIND], using="default")


def test_a_claim_gives_the_job_as_it_is_stored_and_marks_the_row() -> None:
    worker = uuid4()
    job = make_job(tenant_id="t", payload={"script": "x"}, meta={"caller": "me"}, dedupe_key="k")
    (claimed,) = claim_all(worker=worker)
    job.refresh_from_db()
    assert (claimed.id, claimed.payload, claimed.meta) == (job.id, job.payload, job.meta)
    assert (claimed.tenant, claimed.dedupe_key, claimed.attempts) == ("t", "k", 1)
    assert (job.state, job.attempts, job.claimed_by) == (State.RUNNING, 1, worker)
    assert (job.fence, job.claimed_at) == (claimed.fence, claimed.claimed_at)


def test_a_payload_that_only_a_later_reader_takes_keeps_no_neighbour_from_being_claimed() -> None:
    numbers = [make_job(payload={}), make_job(payload={}), make_job(meta=[1])]
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE hubqueue_job SET payload = '{"n": 1e400}' WHERE id = %s""",
            [numbers[0].pk],
        )
    found = {each.id: each for each in claim_all()}
    assert set(found) == {each.pk for each in numbers}
    assert found[numbers[0].pk].payload == {"n": 10**400}
    assert found[numbers[1].pk].payload == {}
    assert found[numbers[2].pk].meta == [1]


def test_what_is_not_due_is_not_claimed() -> None:
    make_job(run_at=now() + MINUTE)
    assert claim_all() == []


def test_priority_is_strict_inside_a_queue() -> None:
    for priority in (5, -5, 0, 32767, -32768):
        fill(2, priority=priority, age=abs(priority))
    assert [each.priority for each in claim_all()] == [-32768] * 2 + [-5] * 2 + [0] * 2 + [
        5
    ] * 2 + [32767] * 2


def test_age_decides_inside_a_tenant() -> None:
    ids = [make_job(run_at=now() - n * MINUTE).id for n in (2, 3, 1)]
    assert [each.id for each in claim_all()] == [ids[1], ids[0], ids[2]]


@pytest.mark.parametrize("small", ["b", "zz", "A", None])
def test_a_tenant_with_one_job_starts_within_two_claims_of_anothers_hundred_thousand(
    small: str | None,
) -> None:
    fill(20_000, "m", age=3600)
    lane = Lane("default", 10)
    take(lane)
    fill(1, small, age=1)
    served = [each.tenant for _ in range(2) for each in take(lane)]
    assert small in served


def test_every_tenant_starts_within_tenants_by_batch_and_two_rounds() -> None:
    with connection.cursor() as cursor:
        for tenant_count, jobs in ((200, 3),):
            cursor.execute(
                """
                INSERT INTO hubqueue_job (id, kind, queue, priority, tenant_id, payload, state, run_at, attempts,
                    max_attempts, fence, suspect, meta, created_at)
                SELECT gen_random_uuid(), %s, 'default', 0, 't' || t, '{}', 'READY', hubqueue_now(), 0, 3, 0,
                    false, '{}', hubqueue_now()
                FROM generate_series(1, %s) AS t, generate_series(1, %s) AS n
                """,
                [KIND, tenant_count, jobs],
            )
    lane = Lane("default", 10)
    rounds = 200 // 10
    seen = Counter(each.tenant for _ in range(rounds) for each in take(lane))
    assert len(seen) == 200
    assert set(seen.values()) == {1}


def test_tenants_without_due_work_take_no_turn() -> None:
    """A wall of tenants whose jobs are for tomorrow must not keep a due one waiting behind a big one."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_job (id, kind, queue, priority, tenant_id, payload, state, run_at, attempts,
                max_attempts, fence, suspect, meta, created_at)
            SELECT gen_random_uuid(), %s, 'default', 0, 'f' || t, '{}', 'READY', hubqueue_now() + interval '1 day',
                0, 3, 0, false, '{}', hubqueue_now()
            FROM generate_series(1, 100) AS t
            """,
            [KIND],
        )
    fill(1000, "a", age=3600)
    fill(1, "z")
    lane = Lane("default", 10)
    served = [each.tenant for _ in range(2) for each in take(lane)]
    assert "z" in served


def test_a_busy_more_urgent_level_does_not_send_the_next_one_back_to_its_start() -> None:
    for tenant in "abcdefghijklmnopqrst":
        fill(50, tenant)
    lane = Lane("default", 5)
    seen: set[str | None] = set()
    for _ in range(8):
        fill(1, "zz", priority=-1)
        seen |= {each.tenant for each in take(lane, 5)}
    assert seen == {*"abcdefghijklmnopqrst", "zz"}


def test_an_urgent_job_in_between_takes_nobodys_turn() -> None:
    for tenant in "abc":
        fill(20, tenant, priority=5)
    lane, served = Lane("default", 1), set()
    for _ in range(5):
        fill(1, "b")
        assert [each.tenant for each in take(lane, 1)] == ["b"]
        served |= {each.tenant for each in take(lane, 1)}
    assert served == {"a", "b", "c"}


def test_a_claim_uses_all_its_room_while_anything_is_due() -> None:
    fill(3, "a")
    fill(100, "b")
    fill(2, None)
    assert Counter(each.tenant for each in take(Lane("default", 50), 50)) == {
        "a": 3,
        "b": 45,
        None: 2,
    }


def test_the_installations_own_work_has_a_turn_like_a_tenant() -> None:
    fill(100, None, age=100)
    fill(5, "a")
    counts = Counter(each.tenant for each in take(Lane("default", 6), 6))
    assert counts["a"] == 3


def test_a_job_dated_back_behind_the_floor_is_found_by_the_next_full_look() -> None:
    fill(20, age=60)
    lane = Lane("default", 5)
    take(lane, 5)
    assert lane.floors.keys() == {"0"}
    dated_back = make_job(run_at=now() - timedelta(days=1))
    lane.full_look_at = float("inf")
    assert dated_back.id not in {each.id for each in take(lane, 5)}
    lane.full_look_at = 0.0
    assert take(lane, 5)[0].id == dated_back.id
    assert 0.0 < lane.full_look_at < float("inf")


def test_a_job_handed_back_among_those_of_its_call_is_found_by_the_next_full_look() -> None:
    scripted.enqueue_many([scripted.item() for _ in range(20)])  # all due at one moment
    lane = Lane("default", 5)
    first, *_ = take(lane, 5)
    take(lane, 5)
    settle(first, hand_back(), using="default")
    lane.full_look_at = float("inf")
    assert first.id not in {each.id for each in take(lane, 5)}
    lane.full_look_at = 0.0
    assert take(lane, 5)[0].id == first.id


def test_a_claim_that_a_frozen_network_held_up_does_not_put_the_next_full_look_off_for_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = count(1000.0, 20.0)  # every claim takes 20 seconds
    monkeypatch.setattr(claims, "monotonic", lambda: next(clock))
    fill(20, age=60)
    lane = Lane("default", 5)
    take(lane, 5)
    handed_back = make_job(run_at=now() - timedelta(days=1))
    assert take(lane, 5)[0].id == handed_back.id


def test_a_new_more_urgent_priority_is_seen_with_floors_too() -> None:
    fill(20, priority=0)
    fill(20, priority=7)
    lane = Lane("default", 5)
    take(lane, 25)
    lane.full_look_at = float("inf")
    for priority in (-5, 3):
        fill(1, priority=priority)
        assert take(lane, 1)[0].priority == priority
    assert take(lane, 1)[0].priority == 7


def test_floors_never_hide_what_was_enqueued_since() -> None:
    lane = Lane("default", 5)
    for tenant in ("b", "a", None, "c"):
        fill(12, tenant)
        take(lane, 5)
        lane.full_look_at = float("inf")
    while take(lane, 5):
        pass
    assert not Job.objects.due().exists()


def test_lanes_are_served_in_their_order_each_within_its_room() -> None:
    for queue in ("default", "mail", "leads"):
        fill(10, queue=queue)
    lanes = [Lane("mail", 2), Lane("default", 9), Lane("leads", 9)]
    found = claim(uuid4(), lanes, [2, 9, 9], 8, [KIND], using="default")
    assert [each.queue for each in found] == ["mail"] * 2 + ["default"] * 6


def test_a_lane_without_room_is_passed_over() -> None:
    fill(2)
    assert claim(uuid4(), [Lane("default", 5)], [0], 5, [KIND], using="default") == []
    assert claim(uuid4(), [Lane("default", 5)], [5], 0, [KIND], using="default") == []


def test_a_capped_lane_does_not_keep_others_waiting() -> None:
    fill(5000, queue="mail")
    fill(10, queue="default")
    lanes = [Lane("mail", 1), Lane("default", 10)]
    found = claim(uuid4(), lanes, [1, 10], 10, [KIND], using="default")
    assert Counter(each.queue for each in found) == {"mail": 1, "default": 9}


@pytest.mark.parametrize(
    ("scope", "value"), [("queue", "default"), ("kind", KIND), ("tenant", "t")]
)
def test_what_is_paused_is_passed_over_until_it_is_resumed(scope: str, value: str) -> None:
    paused = make_job(tenant_id="t")
    other = make_job(kind="sample.mailed", queue="mail", tenant_id="u")
    officers.pause(scope, value, actor="pat", reason="test")
    for _ in range(2):
        assert [each.id for each in claim_all(queues=["default", "mail"])] in ([other.id], [])
    assert Job.objects.get(pk=paused.id).attempts == 0
    officers.resume(scope, value, actor="pat", reason="test")
    assert [each.id for each in claim_all(queues=["default", "mail"])] == [paused.id]


def test_a_paused_tenant_leaves_the_others_and_the_installations_own_work_alone() -> None:
    fill(20, "t", age=100)
    fill(3, "u")
    fill(3, None)
    officers.pause("tenant", "t", actor="pat", reason="test")
    assert Counter(each.tenant for each in claim_all()) == {"u": 3, None: 3}


def test_a_pause_ends_by_itself_at_its_moment() -> None:
    make_job()
    officers.pause("queue", "default", actor="pat", reason="test", until=now() + MINUTE)
    assert claim_all() == []
    with move_clock(2 * MINUTE):
        assert len(claim_all()) == 1


def test_what_runs_goes_on_when_it_is_paused() -> None:
    make_job()
    (claimed,) = claim_all()
    officers.pause("kind", KIND, actor="pat", reason="test")
    assert run(attempt_of(claimed)).state == State.SUCCEEDED  # type: ignore[union-attr]


def test_a_kind_nobody_knows_stays_untouched() -> None:
    unknown = make_job(kind="sample.gone")
    before = image(unknown.id)
    known = make_job()
    assert [each.id for each in claim_all()] == [known.id]
    assert image(unknown.id) == before


def test_suspects_are_left_to_whoever_runs_them_alone() -> None:
    suspect = make_job(suspect=True)
    assert claim_all() == []
    claimed = claim_suspect(uuid4(), ["default"], [KIND], using="default")
    assert claimed is not None
    assert (claimed.id, claimed.suspect, claimed.attempts) == (suspect.id, True, 1)
    assert claim_suspect(uuid4(), ["default"], [KIND], using="default") is None


@pytest.mark.parametrize(
    ("scope", "value"), [("queue", "default"), ("kind", KIND), ("tenant", "t")]
)
def test_a_paused_suspect_waits_too(scope: str, value: str) -> None:
    make_job(suspect=True, tenant_id="t")
    officers.pause(scope, value, actor="pat", reason="test")
    assert claim_suspect(uuid4(), ["default"], [KIND], using="default") is None
    officers.resume(scope, value, actor="pat", reason="test")
    assert claim_suspect(uuid4(), ["default"], ["sample.other"], using="default") is None
    assert claim_suspect(uuid4(), ["mail"], [KIND], using="default") is None
    assert claim_suspect(uuid4(), ["default"], [KIND], using="default") is not None
