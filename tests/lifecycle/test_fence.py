"""The fence: it only grows, and whatever a superseded attempt writes is refused and counted nowhere."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from msgspec.structs import replace

from hubqueue import officers
from hubqueue.api import Done, JobContext, LeaseLost, Repeat, Result, Retry
from hubqueue.errors import HeldNothing
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import Verdict, settle
from hubqueue.lifecycle.workers import store_progress
from hubqueue.models import Job
from hubqueue.signals import jobs_settled, lease_lost
from hubqueue.states import State
from tests.support.handlers import script, scripted, scripted_detached
from tests.support.rival import Rival
from tests.support.rows import attempt_of, claim_all, claim_one, image, now

pytestmark = pytest.mark.django_db

NOTHING = timedelta(0)


def test_a_fence_grows_with_every_claim_and_is_beyond_the_clock_of_the_last() -> None:
    scripted.enqueue()
    fences = []
    for _ in range(5):
        claimed = claim_one()
        fences.append(claimed.fence)
        settle(claimed, verdicts.hand_back(), using="default")
    assert fences == sorted(set(fences))
    assert abs(fences[-1] - now().timestamp() * 1e6) < 60e6


def test_a_fence_grows_even_when_the_clock_went_back() -> None:
    job_id = scripted.enqueue().id
    ahead = int((now() + timedelta(days=1)).timestamp() * 1e6)
    Job.objects.filter(pk=job_id).update(fence=ahead)
    assert claim_one().fence == ahead + 1


def test_a_claim_that_a_crash_lost_is_never_given_the_same_fence_again() -> None:
    job_id = scripted.enqueue().id
    before = image(job_id)
    lost = claim_one()
    Job.objects.filter(pk=job_id).update(**before)
    again = claim_one()
    assert again.fence > lost.fence
    with pytest.raises(LeaseLost), transaction.atomic():
        settle(lost, verdicts.succeed(), using="default")
    settle(again, verdicts.succeed(), using="default")


def rescued(claimed: Claimed) -> None:
    settle(claimed, verdicts.rescue(None, after=None, spend=False, suspect=False), using="default")


def handed_back(claimed: Claimed) -> None:
    settle(claimed, verdicts.hand_back(), using="default")


def claimed_again(claimed: Claimed) -> None:
    handed_back(claimed)
    assert claim_one().id == claimed.id


def parked(claimed: Claimed) -> None:
    settle(claimed, verdicts.set_aside("x"), using="default")


def cancelled(claimed: Claimed) -> None:
    handed_back(claimed)
    officers.cancel(claimed.id, actor="pat", reason="test")


def finished(claimed: Claimed) -> None:
    settle(claimed, verdicts.succeed(), using="default")


def dead(claimed: Claimed) -> None:
    settle(claimed, verdicts.give_up(Broken("x")), using="default")


def deleted(claimed: Claimed) -> None:
    Job.objects.filter(pk=claimed.id).delete()


LOSSES = [rescued, handed_back, claimed_again, parked, cancelled, finished, dead, deleted]

VERDICTS: list[Verdict] = [
    verdicts.succeed('"mine"'),
    verdicts.repeat(after=NOTHING),
    verdicts.retry(Broken("broke"), after=NOTHING),
    verdicts.give_up(Broken("broke")),
    verdicts.give_up_overdrawn(),
    verdicts.set_aside("mine"),
    verdicts.hand_back("mine"),
    verdicts.rescue(Broken("died"), after=None, spend=True, suspect=True),
]


@pytest.mark.parametrize("lose", LOSSES)
def test_every_write_of_a_superseded_attempt_is_refused_and_changes_nothing(
    lose: Callable[[Claimed], None],
) -> None:
    scripted.using(dedupe_key="k").enqueue()
    claimed = claim_one()
    lose(claimed)
    before = list(Job.objects.order_by("id").values())
    counted: list[dict[str, object]] = []
    hear = lambda **said: counted.append(said)  # noqa: E731
    jobs_settled.connect(hear)
    try:
        for verdict in VERDICTS:
            with pytest.raises(LeaseLost), transaction.atomic():
                settle(claimed, verdict, using="default")
        assert store_progress([(claimed.id, claimed.fence, 0.5)], using="default") == set()
        job = JobContext(claimed, "default", detached=True)
        with pytest.raises(LeaseLost), job.transaction():
            Group.objects.create(name="zombie")
        with pytest.raises(LeaseLost):
            _write_then_hold(job)
    finally:
        jobs_settled.disconnect(hear)
    assert list(Job.objects.order_by("id").values()) == before
    assert not counted
    assert not Group.objects.exists()
    if lose is not dead:
        assert not Job.objects.filter(failures__isnull=False).exists()


@transaction.atomic
def _write_then_hold(job: JobContext) -> None:
    Group.objects.create(name="zombie")
    job.hold()


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("each", [scripted, scripted_detached])
@pytest.mark.parametrize("answer", [Done(), Repeat(after=NOTHING), Retry(after=NOTHING), "raise"])
@pytest.mark.django_db(transaction=True)
def test_a_zombie_ends_without_a_trace_however_it_ends(
    lose: Callable[[Claimed], None], each: object, answer: Result | str
) -> None:
    taken: list[Claimed] = []
    lost: list[str] = []

    def act(job: JobContext) -> Result:
        if not job.claimed.kind.endswith("detached"):
            Group.objects.create(name="zombie")
        if answer == "raise":
            raise RuntimeError
        if isinstance(answer, Done):
            return Done(record=lambda: Group.objects.create(name="zombie"))
        assert not isinstance(answer, str)
        return answer

    def lose_then_call(function: Callable[[], Result | None]) -> Result | None:
        with Rival() as rival:
            rival.do(lambda: lose(taken[0]))
        return function()

    hear = lambda kind, **_: lost.append(kind)  # noqa: E731
    lease_lost.connect(hear)
    with script(act) as name:
        each.enqueue(script=name)  # type: ignore[attr-defined]
        taken.append(claim_one())
        try:
            assert run(attempt_of(taken[0], call=lose_then_call)) is None
        finally:
            lease_lost.disconnect(hear)
    assert lost
    assert not Group.objects.exists()
    assert not Job.objects.filter(failures__code="exception").exists()


def test_progress_is_written_by_its_fence_and_passes_over_locked_rows() -> None:
    scripted.enqueue()
    scripted.enqueue()
    one, two = claim_all()
    shares = [(one.id, one.fence, 0.25), (two.id, two.fence - 1, 0.5)]
    assert store_progress(shares, using="default") == {one.id}
    assert dict(Job.objects.values_list("id", "progress")) == {one.id: 0.25, two.id: None}


@pytest.mark.django_db(transaction=True)
def test_hold_outside_a_transaction_is_refused() -> None:
    scripted.enqueue()
    with pytest.raises(HeldNothing):
        JobContext(claim_one(), "default", detached=True).hold()


def test_progress_takes_shares_only() -> None:
    scripted.enqueue()
    job = JobContext(claim_one(), "default", detached=True)
    for wrong in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="from 0 to 1"):
            job.progress(wrong)
    job.progress(0.4)
    assert job.watch.progress == 0.4


def test_the_row_of_another_job_with_the_same_fence_is_not_ours() -> None:
    scripted.enqueue()
    claimed = claim_one()
    other = replace(claimed, id=uuid4())
    with pytest.raises(LeaseLost), transaction.atomic():
        settle(other, verdicts.succeed(), using="default")
    assert Job.objects.get(pk=claimed.id).state == State.RUNNING
