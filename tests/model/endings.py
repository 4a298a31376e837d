"""How attempts end: settled by name, one or several by one statement, still held or not."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from hypothesis import strategies as st

from hubqueue.errors import LeaseLost
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.guard import Claimed, hold
from hubqueue.lifecycle.settle import Settled, Verdict, settle, settle_within
from hubqueue.lifecycle.work import abandon_of
from hubqueue.lifecycle.workers import store_progress
from hubqueue.querysets import database_now
from hubqueue.registry import registry
from tests.model.book import Book, Failed, New
from tests.model.deed import pick_from
from tests.model.moments import Moment, Span, earlier, is_over, span
from tests.model.row import ANY, CANCELLED, DEAD, PARKED, READY, SUCCEEDED, Row

MINUTES = [0, 10, 40, 120]


@dataclass(frozen=True, slots=True)
class Ending:
    """One of the ways. ``minutes`` is the wait (None = its own moment), ``dated`` asks for it as a moment."""

    name: str
    minutes: int | None = None
    dated: bool = False
    spend: bool = True
    code: str | None = None
    reason: str = ""
    suspect: bool | None = False

    def verdict(self) -> Verdict:
        """The engine's word for it."""
        wait = None if self.minutes is None else timedelta(minutes=self.minutes)
        broken = Broken(self.code) if self.code else None
        match self.name:
            case "done":
                return verdicts.succeed('{"done": 1}')
            case "repeat" if self.dated and wait is not None:
                return verdicts.repeat(at=database_now("default") + wait)
            case "repeat":
                return verdicts.repeat(after=wait)
            case "retry" if broken is not None and wait is not None:
                return verdicts.retry(broken, after=wait, spend=self.spend)
            case "dead" if broken is not None:
                return verdicts.give_up(broken)
            case "overdrawn":
                return verdicts.give_up_overdrawn()
            case "park":
                return verdicts.set_aside(self.reason)
            case "hand back":
                return verdicts.hand_back(self.code, after=wait)
        raise AssertionError(self.name)


DONE, DEAD_END = Ending("done"), Ending("dead", code="broke")
CODES = st.sampled_from(["broke", "away"])
ENDING = st.one_of(
    st.just(DONE),
    st.just(DONE),
    st.builds(
        Ending,
        name=st.just("repeat"),
        minutes=st.sampled_from(MINUTES),
        dated=st.booleans(),
    ),
    st.builds(
        Ending,
        name=st.just("retry"),
        minutes=st.sampled_from(MINUTES),
        spend=st.booleans(),
        code=CODES,
    ),
    st.builds(Ending, name=st.just("dead"), code=CODES),
    st.builds(Ending, name=st.just("park"), spend=st.just(False), reason=st.just("look at it")),
    st.builds(
        Ending,
        name=st.just("hand back"),
        minutes=st.sampled_from([None, 0, 10]),
        spend=st.just(False),
        code=st.sampled_from([None, "row_busy"]),
        suspect=st.none(),
    ),
)


def end(book: Book, claimed: Claimed, ending: Ending, now: Span, new: New) -> Row:
    """What the contract says of a row whose attempt ends like this."""
    row = book.rows[claimed.id]
    asked = None if ending.minutes is None else now + timedelta(minutes=ending.minutes)
    rerun, stop = row.rerun_at, row.stop_requested
    values: dict[str, Any] = {
        "claimed_by": None,
        "stop_requested": None,
        "progress": ANY,
        "park_reason": None if stop is None else ANY,
        "suspect": row.suspect if ending.suspect is None else ending.suspect,
    }
    if ending.name in ("done", "repeat"):
        values |= {"failing_since": None, "error_code": None}
    else:
        values |= {"error_code": ending.code or row.error_code}
        values |= {"attempts": row.attempts if ending.spend else row.attempts - 1}
        if ending.spend and ending.code and row.failing_since is None:
            values |= {"failing_since": now}
    if ending.name == "done":
        # A Done stands; a wake-up that landed meanwhile makes it READY again, or leaves it with who asked for it.
        values |= {"result": {"done": 1}}
        if rerun is None:
            values |= {"state": SUCCEEDED, "finished_at": now}
        else:
            state = PARKED if stop == "park" else READY
            values |= {"state": state, "run_at": rerun, "rerun_at": None, "attempts": 0}
    else:
        values |= _moments(ending, row, asked, stop)
        values |= _state(ending, stop, now)
    if values["state"] == PARKED:
        values["park_reason"] = row.park_reason if stop == "park" else ending.reason
    after = book.change(row, **values)
    book.lose(row.id)
    if ending.code is not None:
        book.fail(row.id, Failed(claimed.attempts, ending.spend, ending.code))
    if ending.name in ("done", "repeat") or after.state in (DEAD, CANCELLED):
        book.events.append(("served", after))
    if after.state in (DEAD, CANCELLED):
        book.abandon(after, now, new)
    return after


def _state(ending: Ending, stop: str | None, now: Span) -> dict[str, Any]:
    if stop == "cancel":
        return {"state": CANCELLED, "finished_at": now, "run_at": ANY}
    if stop == "park" or ending.name == "park":
        return {"state": PARKED}
    if ending.name in ("dead", "overdrawn"):
        return {"state": DEAD, "finished_at": now, "run_at": ANY}
    return {"state": READY}


def _moments(ending: Ending, row: Row, asked: Moment | None, stop: str | None) -> dict[str, Any]:
    if ending.name != "repeat":
        return {"run_at": asked or row.run_at}
    values: dict[str, Any] = {"attempts": 0, "run_at": earlier(asked, row.rerun_at)}
    assert asked is not None
    if row.rerun_at is not None and stop is None and is_over(row.rerun_at, span(asked)):
        values["rerun_at"] = None  # this is the run that serves it
    return values


def check_settled(settled: Settled, row: Row) -> None:
    """The answer says where the job stands."""
    assert (settled.id, settled.state, settled.attempts) == (row.id, row.state, row.attempts)


@dataclass(frozen=True, slots=True)
class Settle:
    """Settle up to so many attempts by one statement; with ``stale`` the last of them holds its job no more."""

    endings: tuple[Ending, ...]
    stale: bool

    def deed(self, book: Book, pick: int) -> "Settling | None":
        live = sorted(
            book.live.values(), key=lambda claimed: (_is_plain(book, claimed), claimed.id)
        )
        live = live[pick % len(live) :] + live[: pick % len(live)] if live else []
        ended = list(zip(live, self.endings, strict=False))
        ended = [(claimed, _fitting(claimed, ending)) for claimed, ending in ended]
        if self.stale:
            past = pick_from(list(book.past.values()), pick)
            if past is None:
                return None
            ended = [each for each in ended[:-1] if each[0].id != past.id]
            ended.append((past, self.endings[-1]))
        return Settling(ended) if ended else None


def _is_plain(book: Book, claimed: Claimed) -> bool:
    """Whether nothing happened to the job since it was claimed. The others come first."""
    row = book.rows[claimed.id]
    return row.stop_requested is None and row.rerun_at is None


def _fitting(claimed: Claimed, ending: Ending) -> Ending:
    """No attempt is spent beyond the bound: who is out of attempts is given up."""
    if claimed.attempts > claimed.max_attempts:
        return Ending("overdrawn", spend=False, suspect=None)
    if claimed.attempts == claimed.max_attempts and ending.name == "retry" and ending.spend:
        return Ending("dead", code=ending.code)
    return ending


@dataclass(slots=True)
class Settling:
    """Attempts and how each ends."""

    ended: list[tuple[Claimed, Ending]]

    def do(self) -> list[Settled] | LeaseLost:
        try:
            if len(self.ended) == 1:
                ((claimed, ending),) = self.ended
                return [
                    settle(claimed, ending.verdict(), using="default", abandon=_abandon(claimed))
                ]
            with transaction.atomic():
                return settle_within(
                    [(claimed, ending.verdict()) for claimed, ending in self.ended],
                    using="default",
                    abandon=_let_each_go,
                )
        except LeaseLost as lost:
            return lost

    def told(
        self,
        book: Book,
        answer: list[Settled] | LeaseLost,
        now: Span,
        new: New,
    ) -> None:
        held = [book.live.get(claimed.id) == claimed for claimed, _ in self.ended]
        if not all(held):
            assert isinstance(answer, LeaseLost), (
                "an attempt that holds its job no more was settled"
            )
            return
        assert not isinstance(answer, LeaseLost), "an attempt that holds its job was refused"
        settled = {each.id: each for each in answer}
        assert len(settled) == len(answer) == len(self.ended)
        for claimed, ending in self.ended:
            rerun = book.rows[claimed.id].rerun_at
            after = end(book, claimed, ending, now, new)
            given_up = after.state in (DEAD, CANCELLED)
            check_settled(settled[claimed.id], after)
            assert not given_up or settled[claimed.id].successor is (rerun is not None)
        book.locked |= settled.keys()


def _abandon(claimed: Claimed) -> Any:
    return abandon_of(registry.find(claimed.kind), using="default")


def _let_each_go(claimed: Claimed) -> object:
    return _abandon(claimed)(claimed)


@dataclass(frozen=True, slots=True)
class Touch:
    """Hold, or write progress for, an attempt; ``stale``: of one that holds its job no more."""

    share: float | None
    stale: bool

    def deed(self, book: Book, pick: int) -> "Touching | None":
        claimed = pick_from(list((book.past if self.stale else book.live).values()), pick)
        return None if claimed is None else Touching(claimed, self.share)


@dataclass(slots=True)
class Touching:
    claimed: Claimed
    share: float | None

    def do(self) -> Any:
        try:
            if self.share is not None:
                shares = [(self.claimed.id, self.claimed.fence, self.share)]
                return store_progress(shares, using="default")
            with transaction.atomic():
                return hold(self.claimed, using="default")
        except LeaseLost as lost:
            return lost

    def told(self, book: Book, answer: Any, now: Span, new: New) -> None:
        holds = book.live.get(self.claimed.id) == self.claimed
        if self.share is None:
            assert isinstance(answer, LeaseLost) is not holds
        elif holds and self.claimed.id not in book.locked:
            assert answer == {self.claimed.id}
            book.change(book.rows[self.claimed.id], progress=self.share)
        else:
            assert answer == set()
        if holds:
            book.locked |= {self.claimed.id}


SETTLE = st.builds(Settle, endings=st.tuples(ENDING), stale=st.just(False))
SETTLE_SOME = st.builds(
    Settle, endings=st.lists(ENDING, min_size=2, max_size=4).map(tuple), stale=st.booleans()
)
SETTLE_PAST = st.builds(Settle, endings=st.tuples(ENDING), stale=st.just(True))
TOUCH = st.builds(
    Touch, share=st.sampled_from([None, 0.0, 0.5, 1.0]), stale=st.sampled_from([False, True])
)
