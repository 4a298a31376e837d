"""Steps that run a job's handler to its end, alone or in a shared transaction."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group
from hypothesis import strategies as st

from hubqueue.api import Dead, Done, JobContext, Park, Repeat, Result, Retry
from hubqueue.lifecycle import run as running
from hubqueue.lifecycle.context import Watch
from hubqueue.lifecycle.grouped import run_together
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.settle import Settled
from hubqueue.registry import registry
from tests.model.book import Book, New
from tests.model.deed import pick_from
from tests.model.endings import DONE, Ending, check_settled, end
from tests.model.kinds import BACKOFF, GIVE_UP_AFTER, answers, effect_of
from tests.model.moments import Span
from tests.model.row import Row

WAIT = timedelta(minutes=40)


def _raise(job: JobContext) -> Result:
    raise LookupError("not today")


def _hold(job: JobContext) -> Result:
    job.hold()
    return Done({"done": 1})


# What the handler does, how that ends by the contract, whether its writes are kept.
ANSWERS: dict[str, tuple[Callable[[JobContext], Result], Ending, bool]] = {
    "done": (lambda job: Done({"done": 1}), DONE, True),
    "hold": (_hold, DONE, True),
    "repeat": (lambda job: Repeat(after=WAIT), Ending("repeat", minutes=40), True),
    "retry": (lambda job: Retry(after=WAIT, code="away"), Ending("retry", 40, code="away"), True),
    "unspent": (
        lambda job: Retry(after=WAIT, code="away", spend=False),
        Ending("retry", 40, spend=False, code="away"),
        True,
    ),
    "dead": (lambda job: Dead("wrong"), Ending("dead", code="wrong"), True),
    "park": (
        lambda job: Park("look at it"),
        Ending("park", spend=False, reason="look at it"),
        True,
    ),
    "raise": (_raise, Ending("retry", 0, code="exception"), False),
}


@dataclass(frozen=True, slots=True)
class Run:
    """Run an attempt; ``stale``: one that holds its job no more."""

    answer: str
    stale: bool

    def deed(self, book: Book, pick: int) -> "RunningOne | None":
        claimed = pick_from(list((book.past if self.stale else book.live).values()), pick)
        return None if claimed is None else RunningOne(claimed, self.answer)


def _attempt(claimed: Claimed, answer: str) -> running.Attempt:
    answers[claimed.id] = ANSWERS[answer][0]
    work = registry.find(claimed.kind)
    assert work is not None
    return running.Attempt(claimed, work, "default", Watch(), lambda function: function())


def _is_kept(claimed: Claimed) -> bool:
    return Group.objects.filter(name=effect_of(claimed.id, claimed.fence)).exists()


def _is_out(claimed: Claimed, attempts: int) -> bool:
    """Whether so many failed attempts are all there are: both bounds must be passed where two are set."""
    if attempts < claimed.max_attempts:
        return False
    if claimed.kind != "model.stubborn":
        return True
    since = claimed.failing_since
    return since is not None and claimed.claimed_at - since >= GIVE_UP_AFTER


@dataclass(slots=True)
class RunningOne:
    claimed: Claimed
    answer: str
    kept_before: bool = False

    def do(self) -> Any:
        self.kept_before = _is_kept(self.claimed)
        return running.run(_attempt(self.claimed, self.answer))

    def told(self, book: Book, answer: Any, now: Span, new: New) -> None:
        """The writes of the handler are kept exactly when the job says that it ran to this end."""
        if book.live.get(self.claimed.id) != self.claimed:
            assert answer is None
            assert _is_kept(self.claimed) is self.kept_before, (
                "a superseded attempt wrote something"
            )
            return
        assert isinstance(answer, Settled)
        if _is_out(self.claimed, self.claimed.attempts - 1):
            check_settled(
                answer,
                end(book, self.claimed, Ending("overdrawn", spend=False, suspect=None), now, new),
            )
            assert not _is_kept(self.claimed), "a job without attempts left was run"
            return
        _, ending, kept = ANSWERS[self.answer]
        check_settled(answer, _ended(book, self.claimed, ending, now, new))
        assert _is_kept(self.claimed) is kept


def _ended(book: Book, claimed: Claimed, ending: Ending, now: Span, new: New) -> Row:
    if ending.name != "retry":
        return end(book, claimed, ending, now, new)
    if ending.spend and _is_out(claimed, claimed.attempts):
        return end(book, claimed, Ending("dead", code=ending.code), now, new)
    after = end(book, claimed, ending, now, new)
    if after.state in ("READY", "PARKED"):
        longest = WAIT * 1.25 if ending.minutes else BACKOFF.ceiling(claimed.attempts)
        shortest = timedelta(minutes=ending.minutes or 0)
        return book.change(after, run_at=Span(now.earliest + shortest, now.latest + longest))
    return after


@dataclass(frozen=True, slots=True)
class RunTogether:
    """Several attempts of one transactional kind in one transaction, one of them perhaps superseded."""

    answers: tuple[str, ...]
    stale: bool

    def deed(self, book: Book, pick: int) -> "RunningSome | None":
        live = [each for each in book.live.values() if each.kind == "model.plain"]
        some = live[: len(self.answers)]
        if self.stale:
            past = pick_from([p for p in book.past.values() if p.kind == "model.plain"], pick)
            if past is None or past.id in {each.id for each in some}:
                return None
            some = [*some, past]
        if len(some) < 2:
            return None
        return RunningSome(some, [*self.answers, "done"])


@dataclass(slots=True)
class RunningSome:
    claimed: list[Claimed]
    answers: list[str]
    kept_before: set[UUID] = field(default_factory=set)

    def do(self) -> Any:
        self.kept_before = {each.id for each in self.claimed if _is_kept(each)}
        pairs = zip(self.claimed, self.answers, strict=False)
        return run_together([_attempt(*pair) for pair in pairs], lambda function: function())

    def told(self, book: Book, answer: Any, now: Span, new: New) -> None:
        """All of them, or none of them and nothing spent."""
        pairs = list(zip(self.claimed, self.answers, strict=False))
        raised = any(
            name == "raise" and not _is_out(each, each.attempts - 1) for each, name in pairs
        )
        if raised or any(book.live.get(each.id) != each for each in self.claimed):
            assert answer is None
            assert {each.id for each in self.claimed if _is_kept(each)} == self.kept_before
            return
        assert [each.id for each in answer] == [each.id for each in self.claimed]
        for (each, name), settled in zip(pairs, answer, strict=True):
            overdrawn = _is_out(each, each.attempts - 1)
            ending = (
                Ending("overdrawn", spend=False, suspect=None) if overdrawn else ANSWERS[name][1]
            )
            check_settled(settled, _ended(book, each, ending, now, new))
            assert _is_kept(each) is not overdrawn


RUN = st.builds(
    Run, answer=st.sampled_from(sorted(ANSWERS)), stale=st.sampled_from([False, False, False, True])
)
RUN_TOGETHER = st.builds(
    RunTogether,
    answers=st.lists(
        st.sampled_from(["done", "repeat", "retry", "raise", "dead"]), min_size=2, max_size=3
    ).map(tuple),
    stale=st.sampled_from([False, False, True]),
)
