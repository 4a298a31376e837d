"""A job of a grouped kind brings more of its kind, at nobody's cost."""

from datetime import timedelta
from uuid import uuid4

import pytest

from hubqueue.lifecycle.claim import Lane, Together, claim
from hubqueue.runner.intake import Intake
from tests.support.handlers import scripted, scripted_detached
from tests.support.intakes import intake_of
from tests.support.rows import make_job, now

pytestmark = pytest.mark.django_db


@pytest.fixture
def lane() -> Lane:
    return Lane("default", 0)


@pytest.fixture
def intake(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> Intake:
    """Of a child with one thread, which never begins; ``scripted`` is a grouped kind."""
    monkeypatch.setattr(scripted, "group", 5)
    return intake_of(uuid4(), lane, threads=1)


def test_older_jobs_of_other_kinds_are_not_hidden_by_those_that_came_along(
    intake: Intake, lane: Lane
) -> None:
    first, between, last = (
        make_job(kind=kind, run_at=now() - timedelta(seconds=age))
        for kind, age in ((scripted.kind, 9), (scripted_detached.kind, 8), (scripted.kind, 7))
    )
    assert [each.id for each in intake.claim(at_most=None)] == [first.id, last.id]
    lane.full_look_at = float("inf")  # no look behind the floor helps
    assert [each.id for each in intake.claim(at_most=None)] == [between.id]


def test_tenants_that_came_along_have_had_their_turn(intake: Intake, lane: Lane) -> None:
    jobs = [make_job(tenant_id=f"t{number // 2}") for number in range(12)]
    taken = intake.claim(at_most=None)
    assert len(taken) == 5
    assert lane.turns["0"] == max(each.tenant or "" for each in taken)
    again = intake.claim(at_most=None)
    assert again[0].tenant == "t5"
    assert len({each.id for each in (*taken, *again)}) == 10 < len(jobs)


def test_what_comes_along_keeps_to_the_bound_on_jobs_whatever_kinds_it_is_of() -> None:
    for _ in range(20):
        make_job(kind="one")
        make_job(kind="two")
    groups = [Together([kind], 10, 1) for kind in ("one", "two")]
    taken = claim(
        uuid4(),
        [Lane("default", 0)],
        [2],
        2,
        ["one", "two"],
        groups=groups,
        most=8,
        using="default",
    )
    assert {each.kind for each in taken} == {"one", "two"}
    assert len(taken) == 8
