"""No lost wake-up: a request that commits after a run began is served by a run that starts after the commit."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group

from hubqueue.api import Done, JobContext, Outcome, Result
from hubqueue.conf import conf
from hubqueue.lifecycle import detached, transactional
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Job
from hubqueue.states import State
from tests.support.handlers import script, scripted, scripted_detached
from tests.support.rival import Rival
from tests.support.rows import attempt_of, claim_all, claim_one

pytestmark = pytest.mark.django_db(transaction=True)

BOTH = pytest.mark.parametrize("each", [scripted, scripted_detached])


class Wanted:
    """Serves a wish: the handler counts the groups it sees, the wisher adds one and enqueues."""

    def __init__(self, each: object) -> None:
        self.each = each
        self.seen: list[int] = []

    def look(self, job: JobContext) -> Result:
        self.seen.append(Group.objects.count())
        return Done()

    def wish(self, name: str = "wish") -> Outcome:
        Group.objects.create(name=name)
        return self.each.using(dedupe_key="k").enqueue(script=self.name).outcome  # type: ignore[attr-defined]

    def drain(self) -> None:
        while claimed := claim_all(1):
            assert isinstance(run(attempt_of(claimed[0])), Settled)


@pytest.fixture
def wanted(request: pytest.FixtureRequest) -> Wanted:
    return Wanted(request.param)


WANTED = pytest.mark.parametrize("wanted", [scripted, scripted_detached], indirect=True)


@WANTED
@pytest.mark.parametrize("at", ["before the handler", "in the handler", "after the handler"])
def test_a_wish_that_commits_during_a_run_is_served_after_it(wanted: Wanted, at: str) -> None:
    outcomes: list[Outcome] = []
    with script(wanted.look) as wanted.name, Rival() as rival:
        wanted.wish("first")

        def call(function: Callable[[], Result | None]) -> Result | None:
            if at == "before the handler":
                outcomes.append(rival.do(wanted.wish))
            answer = function()
            if at != "before the handler":
                outcomes.append(rival.do(wanted.wish))
            return answer

        settled = run(attempt_of(claim_one(), call=call))
        assert isinstance(settled, Settled)
        assert (settled.state, settled.attempts) == (State.READY, 0)
        assert outcomes == [Outcome.RERUN]
        wanted.drain()
    assert wanted.seen[-1] == 2
    assert len(wanted.seen) == 2
    assert Job.objects.get().state == State.SUCCEEDED


@WANTED
def test_a_wish_that_waits_for_the_settles_commit_becomes_a_job_of_its_own(wanted: Wanted) -> None:
    """The last moment of all: the settle has written, its commit has not come."""
    with script(wanted.look) as wanted.name, Rival() as rival, Rival() as runner:
        wanted.wish("first")
        claimed = claim_one()
        runner.begin()
        assert isinstance(runner.do(lambda: run(attempt_of(claimed))), Settled)
        outcome = rival.start(wanted.wish)
        rival.until_blocked()
        runner.commit()
        assert outcome.result(30) == Outcome.NEW
        wanted.drain()
    assert wanted.seen == [1, 2]


@WANTED
def test_a_wish_that_commits_while_the_settle_waits_for_it_is_served(wanted: Wanted) -> None:
    with script(wanted.look) as wanted.name, Rival() as rival, Rival() as runner:
        wanted.wish("first")
        claimed = claim_one()
        rival.begin()
        assert rival.do(wanted.wish) == Outcome.RERUN
        settled = runner.start(lambda: run(attempt_of(claimed)))
        runner.until_blocked()
        rival.commit()
        assert settled.result(30).state == State.READY  # type: ignore[union-attr]
        wanted.drain()
    assert wanted.seen == [1, 2]
    assert Job.objects.get().state == State.SUCCEEDED


@WANTED
def test_a_wish_that_rolls_back_while_the_settle_waits_for_it_leaves_nothing(
    wanted: Wanted,
) -> None:
    with script(wanted.look) as wanted.name, Rival() as rival, Rival() as runner:
        wanted.wish("first")
        claimed = claim_one()
        rival.begin()
        rival.do(wanted.wish)
        settled = runner.start(lambda: run(attempt_of(claimed)))
        runner.until_blocked()
        rival.rollback()
        assert settled.result(30).state == State.SUCCEEDED  # type: ignore[union-attr]
    assert wanted.seen == [1]
    assert Job.objects.count() == 1


@WANTED
def test_a_wisher_that_dies_while_the_settle_waits_for_it_leaves_nothing(wanted: Wanted) -> None:
    with script(wanted.look) as wanted.name, Rival() as runner:
        wanted.wish("first")
        claimed = claim_one()
        with Rival() as rival:
            rival.begin()
            rival.do(wanted.wish)
            settled = runner.start(lambda: run(attempt_of(claimed)))
            runner.until_blocked()
            rival.die()
            assert settled.result(30).state == State.SUCCEEDED  # type: ignore[union-attr]
            rival._atomic = None


@WANTED
def test_a_wish_held_open_past_the_patience_hands_the_attempt_back_unspent(
    wanted: Wanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    _hurry(monkeypatch)
    with script(wanted.look) as wanted.name, Rival() as rival:
        wanted.wish("first")
        claimed = claim_one()
        rival.begin()
        rival.do(wanted.wish)
        owed = run(attempt_of(claimed))
        assert isinstance(owed, Owed)
        assert isinstance(pay(owed), Owed), "the row is still locked"
        assert Job.objects.get().state == State.RUNNING
        assert claim_all() == [], "never two at once"
        rival.commit()
        settled = pay(owed)
        assert isinstance(settled, Settled)
        job = Job.objects.get()
        assert (job.state, job.attempts) == (State.READY, 0)
        if wanted.each is scripted:
            assert job.failures.get().code == "row_busy"
            assert job.failures.get().spent is False
        wanted.drain()
    assert wanted.seen[-1] == 2
    assert Job.objects.get().state == State.SUCCEEDED


@BOTH
def test_a_wish_committed_before_the_claim_is_served_by_that_run(each: object) -> None:
    wanted = Wanted(each)
    with script(wanted.look) as wanted.name:
        wanted.wish("first")
        assert wanted.wish("second") == Outcome.COLLAPSED
        wanted.drain()
    assert wanted.seen == [2]
    assert Job.objects.count() == 1


def test_a_wish_that_waits_for_the_claims_commit_leads_to_one_more_run() -> None:
    wanted = Wanted(scripted)
    with script(wanted.look) as wanted.name, Rival() as rival, Rival() as claimer:
        wanted.wish("first")
        claimer.begin()
        claimed = claimer.do(claim_one)
        outcome = rival.start(wanted.wish)
        rival.until_blocked()
        claimer.commit()
        assert outcome.result(30) == Outcome.RERUN
        assert run(attempt_of(claimed)).state == State.READY  # type: ignore[union-attr]
        wanted.drain()
    assert wanted.seen[-1] == 2


def test_a_claim_passes_over_a_row_whose_wisher_is_open_and_finds_it_later() -> None:
    wanted = Wanted(scripted)
    with script(wanted.look) as wanted.name, Rival() as rival:
        wanted.wish("first")
        rival.begin()
        assert rival.do(wanted.wish) == Outcome.COLLAPSED
        assert claim_all() == []
        rival.commit()
        wanted.drain()
    assert wanted.seen == [2]


def test_hold_makes_wishers_wait_for_the_pass() -> None:
    wanted = Wanted(scripted)
    with Rival() as rival:

        def held(job: JobContext) -> Result:
            job.hold()
            waiting.append(rival.start(wanted.wish))
            rival.until_blocked()
            return Done()

        waiting: list[object] = []
        with script(held) as wanted.name:
            wanted.wish("first")
            settled = run(attempt_of(claim_one()))
            assert settled.state == State.SUCCEEDED  # type: ignore[union-attr]
            assert waiting[0].result(30) == Outcome.NEW  # type: ignore[attr-defined]
    assert Job.objects.unfinished().count() == 1


def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A settle's patience of 100 ms instead of the timeout and the grace."""
    hurried = replace(conf(), settle_grace=timedelta(milliseconds=100))
    monkeypatch.setattr(transactional, "conf", lambda: hurried)
    monkeypatch.setattr(detached, "conf", lambda: hurried)
    monkeypatch.setattr(scripted, "_timeout", timedelta(milliseconds=1))
