"""Any story of one key, told by chance: whoever asked is served after they asked, by one job at a time."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.settle import Verdict, settle
from hubqueue.models import Job
from hubqueue.states import FINISHED, Move
from hubqueue.testing import move_clock
from tests.support.handlers import scripted
from tests.support.rows import claim_all, now

pytestmark = pytest.mark.django_db

ENDINGS: list[Callable[[], Verdict]] = [
    verdicts.succeed,
    lambda: verdicts.repeat(after=timedelta(hours=1)),
    lambda: verdicts.retry(Broken("broke"), after=timedelta(minutes=1)),
    lambda: verdicts.hand_back("row_busy"),
    lambda: verdicts.rescue(Broken("died"), after=None, spend=False, suspect=False),
    lambda: verdicts.give_up(Broken("broke")),
]
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from([0, 30, 90])),
    st.tuples(st.just("claim"), st.just(0)),
    st.tuples(st.just("end"), st.integers(0, len(ENDINGS) - 1)),
    st.tuples(st.just("officer"), st.sampled_from([Move.RUN_NOW, Move.RELEASE, Move.REDRIVE])),
)


class Story:
    """One key's jobs, and which of the wishes each run that succeeded has seen."""

    def __init__(self) -> None:
        self.wishes = 0
        self.served = 0
        self.seen = 0
        self.running: Claimed | None = None

    def ask(self, minutes: int) -> None:
        self.wishes += 1
        scripted.using(dedupe_key="k", run_at=now() + timedelta(minutes=minutes)).enqueue()

    def claim(self, _: Any) -> None:
        found = claim_all(5)
        assert len(found) <= (0 if self.running else 1), "two of one key at once"
        if found:
            self.running, self.seen = found[0], self.wishes

    def end(self, which: int) -> None:
        if self.running is None:
            return
        verdict = ENDINGS[which]()
        settle(self.running, verdict, using="default")
        self.running = None
        # A dead letter is told to people: what was asked before its run began is theirs to redrive.
        if verdict.move in {Move.SUCCEED, Move.REPEAT, Move.GIVE_UP}:
            self.served = max(self.served, self.seen)

    def officer(self, verb: Move) -> None:
        job = Job.objects.order_by("-id").first()
        if job is not None:
            try:
                officers.VERBS[verb](job.id, actor="pat", reason="test")
            except MoveRefused:
                pass

    def drain(self) -> None:
        """In the end everything runs and succeeds."""
        with move_clock(timedelta(days=2)):
            for _ in range(10):
                self.end(0)
                self.claim(0)
                if self.running is None:
                    break
        assert self.running is None


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, max_size=14))
def test_whatever_happens_to_a_key_its_last_wish_is_served(steps: list[tuple[str, Any]]) -> None:
    Job.objects.all().delete()
    story = Story()
    for name, argument in steps:
        getattr(story, name)(argument)
        unfinished = Job.objects.unfinished().filter(dedupe_key="k")
        assert unfinished.count() <= 1
        if story.served < story.wishes:
            assert unfinished.exists(), "a wish waits and no job is left to serve it"
    story.drain()
    assert story.served == story.wishes
    assert set(Job.objects.values_list("state", flat=True)) <= FINISHED
