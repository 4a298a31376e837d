"""The table of moves: what is in it ends where it says, everything else is refused and changes nothing."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction

from hubqueue import officers
from hubqueue.errors import LeaseLost, MoveRefused
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.settle import Verdict, settle
from hubqueue.models import Job, Operation
from hubqueue.states import MOVES, Move, State, Stop
from tests.support.rows import claim_all, held, image, make_job, now

pytestmark = pytest.mark.django_db

BROKEN = Broken("broke")
HOUR = timedelta(hours=1)

VERDICTS: dict[Move, Verdict] = {
    Move.SUCCEED: verdicts.succeed(),
    Move.REPEAT: verdicts.repeat(after=HOUR),
    Move.RETRY: verdicts.retry(BROKEN, after=HOUR),
    Move.HAND_BACK: verdicts.hand_back(),
    Move.RESCUE: verdicts.rescue(BROKEN, after=None, spend=False, suspect=True),
    Move.GIVE_UP: verdicts.give_up(BROKEN),
    Move.SET_ASIDE: verdicts.set_aside("look at it"),
}


def make_move(job: Job, move: Move) -> None:
    """Make the move as whoever may make it would. Raises what it refuses with."""
    if move in VERDICTS:
        settle(held(job), VERDICTS[move], using="default")
    elif move is Move.CLAIM:
        if not claim_all():
            raise MoveRefused("not_claimed", "nothing to claim")
    else:
        officers.VERBS[move](job.id, actor="pat", reason="test")


@pytest.mark.parametrize(("state", "move"), list(product(State, Move)))
def test_every_pair_is_as_the_table_says(state: State, move: Move) -> None:
    job = make_job(state)
    before = image(job.id)
    if (state, move) in MOVES:
        make_move(job, move)
        job.refresh_from_db()
        assert State(job.state) in MOVES[state, move]
    else:
        with pytest.raises((MoveRefused, LeaseLost)) as refused:
            make_move(job, move)
        assert refused.value.code in {"wrong_state", "lease_lost", "not_claimed"}
        assert image(job.id) == before
        assert not Operation.objects.exists()
        assert not job.failures.exists()


@pytest.mark.parametrize("move", list(VERDICTS))
def test_running_ends_in_every_state_the_table_names_and_no_other(move: Move) -> None:
    ends = set()
    for stop, rerun in product([None, *Stop], [False, True]):
        key = str(uuid4())
        job = make_job(
            State.RUNNING,
            stop_requested=stop,
            dedupe_key=key,
            rerun_at=now() if rerun else None,
        )
        make_move(job, move)
        job.refresh_from_db()
        ends.add(State(job.state))
        assert job.claimed_by is None
        assert job.stop_requested is None
    assert ends == MOVES[State.RUNNING, move]


@pytest.mark.parametrize("move", list(officers.VERBS))
def test_a_verb_on_a_job_that_is_not_there_is_a_typed_refusal(move: Move) -> None:
    with pytest.raises(MoveRefused) as refused:
        officers.VERBS[move](uuid4(), actor="pat", reason="test")
    assert refused.value.code == "unknown_job"


CONTRADICTIONS: list[tuple[State, dict[str, Any]]] = [
    (State.READY, {"state": "SLEEPING"}),
    (State.READY, {"finished_at": True}),
    (State.RUNNING, {"finished_at": True}),
    (State.PARKED, {"finished_at": True}),
    (State.SUCCEEDED, {"finished_at": None}),
    (State.CANCELLED, {"finished_at": None}),
    (State.DEAD, {"finished_at": None}),
    (State.RUNNING, {"claimed_by": None}),
    (State.READY, {"claimed_by": UUID(int=1)}),
    (State.SUCCEEDED, {"claimed_by": UUID(int=1)}),
    (State.READY, {"stop_requested": "cancel"}),
    (State.RUNNING, {"stop_requested": "sooner"}),
    (State.READY, {"attempts": -1}),
    (State.READY, {"max_attempts": 0}),
    (State.RUNNING, {"progress": 1.5}),
    (State.RUNNING, {"progress": -0.1}),
    (State.RUNNING, {"progress": float("nan")}),
    (State.READY, {"tenant_id": ""}),
]


@pytest.mark.parametrize(("state", "values"), CONTRADICTIONS)
def test_a_row_that_contradicts_itself_is_refused_by_the_database(
    state: State, values: dict[str, Any]
) -> None:
    job = make_job(state)
    if values.get("finished_at"):
        values = {"finished_at": now()}
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(**values)


def test_two_unfinished_jobs_of_one_key_are_refused_by_the_database() -> None:
    for state in (State.READY, State.RUNNING, State.PARKED):
        make_job(state, dedupe_key=state)
        for other in (State.READY, State.RUNNING, State.PARKED):
            with pytest.raises(IntegrityError), transaction.atomic():
                make_job(other, dedupe_key=state)
        make_job(State.DEAD, dedupe_key=state)
        make_job(State.READY, dedupe_key=state, kind="sample.other")


def test_a_verb_leaves_an_entry_with_who_what_and_why() -> None:
    verbs: list[tuple[Callable[..., State], State]] = [
        (officers.park, State.READY),
        (officers.release, State.PARKED),
        (officers.run_now, State.READY),
        (officers.cancel, State.READY),
        (officers.redrive, State.DEAD),
        (officers.dismiss, State.DEAD),
    ]
    for verb, state in verbs:
        job = make_job(state)
        verb(job.id, actor="pat", reason="because")
        entry = Operation.objects.get(job_id=job.id)
        assert (entry.actor, entry.reason) == ("pat", "because")
        assert entry.verb.replace(" ", "_") == verb.__name__
